package envoyconfig

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// Name is the name of a port of a Service: web.shop:80. Its cluster and assignment have
// it, and clients of gRPC dial xds:///web.shop:80.
func Name(service join.Key, port int32) string {
	return fmt.Sprintf("%s:%d", host(service), port)
}

// host is the name of a Service: web.shop.
func host(service join.Key) string { return service.Name + "." + service.Namespace }

// Ports are the ports of a Service that are translated.
func Ports(service *join.Service) []join.Port {
	var ports []join.Port
	if service == nil {
		return nil
	}
	for _, port := range service.Ports {
		if port.Protocol == corev1.ProtocolTCP {
			ports = append(ports, port)
		}
	}
	return ports
}

// HTTP2 reports whether endpoints of the port are spoken to in HTTP/2. That of the
// Service counts alone: a cluster does not depend on endpoints.
func HTTP2(port join.Port) bool {
	switch port.AppProtocol {
	case "kubernetes.io/h2c", "h2c", "http2", "grpc", "grpcs":
		return true
	}
	return false
}

// TLS reports whether endpoints of the port are spoken to in TLS by listeners of HTTP.
func TLS(port join.Port) bool {
	switch port.AppProtocol {
	case "https", "kubernetes.io/wss", "wss", "grpcs":
		return true
	}
	return false
}

// overTLS is the name of the cluster of a port whose endpoints are spoken to in TLS:
// web.shop:443:tls.
func overTLS(service join.Key, port int32) string { return Name(service, port) + ":tls" }
