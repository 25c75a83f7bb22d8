package environment

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// PoolName is the name of the pool that is made of variables, and of its credentials.
const PoolName = "remote"

// Documents returns the pool and the binding that decide what the variables do. What has no
// field is in neither: the access to the pool, and the settings of the whole process.
func Documents(c settings.Config) (*v1alpha1.EndpointPool, *v1alpha1.EndpointBinding) {
	b := binding(c)
	return pool(c, b), b
}

func pool(c settings.Config, b *v1alpha1.EndpointBinding) *v1alpha1.EndpointPool {
	p := &v1alpha1.EndpointPool{}
	p.APIVersion, p.Kind, p.Name = v1alpha1.APIVersion, v1alpha1.KindEndpointPool, PoolName
	p.Spec.Source = source(c)
	if len(credentials(c)) > 0 {
		p.Spec.Credentials = PoolName
	}
	p.Spec.Subnets = c.Secured.Subnets
	p.Spec.PollInterval = duration(c.Source.PollInterval)
	p.Spec.Allow = allow(b)
	h, g := c.Health, c.Guard
	p.Spec.HealthCheck = v1alpha1.PoolHealthCheck{
		Mode: mode(h.Mode), Interval: duration(h.Interval), Timeout: duration(h.Timeout), Rise: number(h.Rise), Fall: number(h.Fall), HoldConnection: &h.HoldConnection,
	}
	check := &p.Spec.HealthCheck
	if h.Port != 0 {
		check.Port = number(h.Port)
	}
	if used(c, "HEALTH_CHECK_PATH") {
		check.Path, check.Host, check.ExpectedStatus = h.Path, h.Host, strings.Join(h.ExpectedStatus, ",")
	}
	if used(c, "HEALTH_CHECK_TLS_INSECURE") {
		check.TLSServerName, check.TLSInsecure = h.TLSServerName, &h.TLSInsecure
	}
	p.Spec.Guard = v1alpha1.PoolGuard{
		MaxRemovalPercent: number(g.MaxRemovalPercent), MaxSilentPercent: number(g.MaxSilentPercent),
		EmptyResultThreshold: number(g.EmptyResultThreshold), FailOpen: &g.FailOpen, DrainPeriod: duration(g.DrainPeriod),
	}
	return p
}

func number(value int) *int32 { return ptr.To(int32(value)) }

func duration(value time.Duration) *metav1.Duration { return &metav1.Duration{Duration: value} }

// source is the chosen source.
func source(c settings.Config) (s v1alpha1.PoolSource) {
	selector := c.Secured.NodeSelector
	switch c.Source.Kind {
	case settings.SourceStatic:
		s.Static = &v1alpha1.StaticSource{}
		for _, entry := range c.Static.Nodes {
			name, address, _ := strings.Cut(entry, "=")
			s.Static.Nodes = append(s.Static.Nodes, v1alpha1.StaticNode{Name: strings.TrimSpace(name), Addresses: []string{strings.TrimSpace(address)}})
		}
	case settings.SourceFile:
		s.File = &v1alpha1.FileSource{Path: c.File.Path}
	case settings.SourceCommand:
		args, _ := settings.Args(c.Command.Args) // the form was judged
		s.Command = &v1alpha1.CommandSource{Path: c.Command.Path, Args: args}
	case settings.SourceKubernetes:
		s.Kubernetes = &v1alpha1.KubernetesSource{NodeSelector: selector}
	case settings.SourceIONOS:
		s.IONOS = &v1alpha1.IONOSSource{
			DatacenterID: c.IONOS.DatacenterID, LANID: int32(c.IONOS.PrivateLANID), ClusterID: c.IONOS.ClusterID, NodeSelector: selector,
		}
	}
	return s
}

// mode spells a mode as documents do.
func mode(m settings.HealthMode) v1alpha1.HealthCheckMode {
	if m == settings.HealthOff {
		return v1alpha1.HealthCheckNone
	}
	return v1alpha1.HealthCheckMode(strings.ToUpper(string(m)))
}

// allow lets the namespace of the Service use its ports and follow its remote Service, and
// nothing else. One number may
// be a TCP and a UDP port.
func allow(b *v1alpha1.EndpointBinding) []v1alpha1.PoolAllowance {
	var ports []string
	for _, port := range b.Spec.Ports {
		ports = append(ports, strconv.Itoa(int(port.Port)))
	}
	slices.Sort(ports)
	allowed := v1alpha1.PoolAllowance{Namespaces: []string{b.Namespace}, Ports: slices.Compact(ports)}
	if r := b.Spec.Pools[0].RemoteService; r != nil {
		allowed.RemoteNamespaces = []string{r.Namespace}
	}
	return []v1alpha1.PoolAllowance{allowed}
}

func binding(c settings.Config) *v1alpha1.EndpointBinding {
	t, b := c.Target, &v1alpha1.EndpointBinding{}
	b.APIVersion, b.Kind, b.Name, b.Namespace = v1alpha1.APIVersion, v1alpha1.KindEndpointBinding, t.ServiceName, t.Namespace
	b.Spec.Pools, b.Spec.Adopt = []v1alpha1.BindingPool{{Name: PoolName}}, t.SliceName
	if namespace, name, set := strings.Cut(c.Secured.RemoteService, "/"); set {
		b.Spec.Pools[0].RemoteService = &v1alpha1.RemoteServiceReference{Namespace: namespace, Name: name}
	}
	if t.Port != 0 {
		b.Spec.Ports = []v1alpha1.BindingPort{{Port: int32(t.Port)}}
	}
	for _, entry := range t.Ports {
		name, rest, _ := strings.Cut(entry, "=")
		digits, protocol, _ := strings.Cut(rest, "/")
		number, _ := strconv.ParseInt(strings.TrimSpace(digits), 10, 32) // the form was judged
		b.Spec.Ports = append(b.Spec.Ports, v1alpha1.BindingPort{
			Name: strings.TrimSpace(name), Port: int32(number), Protocol: v1alpha1.Protocol(strings.ToUpper(strings.TrimSpace(protocol))),
		})
	}
	return b
}

// given are the settings that somebody set.
func given(c settings.Config) []settings.Setting {
	return slices.DeleteFunc(c.Describe(), func(s settings.Setting) bool {
		return s.Origin == settings.FromDefault || s.Origin == settings.Derived
	})
}

// used reports whether a variable with a field has an effect: those of other sources, and
// of requests that a TCP check does not send, have none.
func used(c settings.Config, variable string) bool {
	kind, mode := c.Source.Kind, c.Health.Mode
	if variable == "SECURED_NODE_SELECTOR" {
		return kind == settings.SourceKubernetes || kind == settings.SourceIONOS
	}
	if group, ok := strings.CutPrefix(naming.Field(variable), "spec.source."); ok {
		group, _, _ = strings.Cut(group, ".")
		return group == string(kind)
	}
	switch variable {
	case "HEALTH_CHECK_PATH", "HEALTH_CHECK_HOST", "HEALTH_CHECK_EXPECTED_STATUS":
		return mode != settings.HealthTCP
	case "HEALTH_CHECK_TLS_SERVER_NAME", "HEALTH_CHECK_TLS_INSECURE":
		return mode == settings.HealthHTTPS || mode == settings.HealthOff
	}
	return true
}
