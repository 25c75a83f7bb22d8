package envoyconfig

import (
	"fmt"
	"slices"

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
	if service == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(service.Ports), func(p join.Port) bool { return p.Protocol != corev1.ProtocolTCP })
}

// HTTP2 reports whether endpoints of the port are spoken to in HTTP/2. That of the
// Service counts alone: a cluster does not depend on endpoints.
func HTTP2(port join.Port) bool {
	return slices.Contains([]string{"kubernetes.io/h2c", "h2c", "http2", "grpc", "grpcs"}, port.AppProtocol)
}

// TLS reports whether endpoints of the port are spoken to in TLS by listeners of HTTP.
func TLS(port join.Port) bool {
	return slices.Contains([]string{"https", "kubernetes.io/wss", "wss", "grpcs"}, port.AppProtocol)
}

// overTLS is the name of the cluster of a port whose endpoints are spoken to in TLS:
// web.shop:443:tls.
func overTLS(service join.Key, port int32) string { return Name(service, port) + ":tls" }
