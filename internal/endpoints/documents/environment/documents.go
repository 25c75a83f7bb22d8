package environment

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/spelling"
)

// PoolName is the name of the pool that is made of variables, and of its credentials.
const PoolName = "remote"

// Documents returns the pool and the binding that decide what the variables do. What
// is not set is left out, and has its default by SetDefaults. What has no field is in
// neither: the access to the pool, and the settings of the whole process.
func Documents(c settings.Config) (*v1alpha1.EndpointPool, *v1alpha1.EndpointBinding) {
	return pool(c), binding(c.Target)
}

func pool(c settings.Config) *v1alpha1.EndpointPool {
	p := &v1alpha1.EndpointPool{}
	p.APIVersion, p.Kind, p.Name = v1alpha1.APIVersion, v1alpha1.KindEndpointPool, PoolName
	said := saidBy(c)
	p.Spec.Source = source(c)
	if len(credentials(c)) > 0 {
		p.Spec.Credentials = PoolName
	}
	for _, subnet := range c.Secured.Subnets {
		p.Spec.Subnets = append(p.Spec.Subnets, subnet.String())
	}
	p.Spec.PollInterval = said.duration("SOURCE_POLL_INTERVAL", c.Source.PollInterval)
	p.Spec.Allow = allow(c.Target)
	h, g := c.Health, c.Guard
	p.Spec.HealthCheck = v1alpha1.PoolHealthCheck{
		Port: said.number("HEALTH_CHECK_PORT", int(h.Port)), Path: said.text("HEALTH_CHECK_PATH", h.Path),
		Host: said.text("HEALTH_CHECK_HOST", h.Host), ExpectedStatus: said.text("HEALTH_CHECK_EXPECTED_STATUS", h.ExpectedStatus.String()),
		Interval: said.duration("HEALTH_CHECK_INTERVAL", h.Interval), Timeout: said.duration("HEALTH_CHECK_TIMEOUT", h.Timeout),
		Rise: said.number("HEALTH_CHECK_RISE", h.Rise), Fall: said.number("HEALTH_CHECK_FALL", h.Fall),
		HoldConnection: said.flag("HEALTH_CHECK_HOLD_CONNECTION", h.HoldConnection),
		TLSServerName:  said.text("HEALTH_CHECK_TLS_SERVER_NAME", h.TLSServerName), TLSInsecure: said.flag("HEALTH_CHECK_TLS_INSECURE", h.TLSInsecure),
	}
	if said["HEALTH_CHECK_MODE"] {
		p.Spec.HealthCheck.Mode = mode(h.Mode)
	}
	p.Spec.Guard = v1alpha1.PoolGuard{
		MaxRemovalPercent: said.number("MAX_REMOVAL_PERCENT", g.MaxRemovalPercent), MaxSilentPercent: said.number("HEALTH_CHECK_MAX_SILENT_PERCENT", g.MaxSilentPercent),
		EmptyResultThreshold: said.number("EMPTY_RESULT_THRESHOLD", g.EmptyResultThreshold), FailOpen: said.flag("HEALTH_CHECK_FAIL_OPEN", g.FailOpen),
		DrainPeriod: said.duration("DRAIN_PERIOD", g.DrainPeriod),
	}
	return p
}

// source is the chosen source.
func source(c settings.Config) (s v1alpha1.PoolSource) {
	selector := c.Secured.NodeSelector
	switch c.Source.Kind {
	case settings.SourceStatic:
		s.Static = &v1alpha1.StaticSource{}
		for _, node := range c.Static.Nodes {
			s.Static.Nodes = append(s.Static.Nodes, v1alpha1.StaticNode{Name: node.Name, Addresses: []string{node.Addr.String()}})
		}
	case settings.SourceFile:
		s.File = &v1alpha1.FileSource{Path: c.File.Path}
	case settings.SourceCommand:
		s.Command = &v1alpha1.CommandSource{Path: c.Command.Path, Args: c.Command.Args}
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

// allow lets the namespace of the Service use its ports, and nothing else. One number may
// be a TCP and a UDP port.
func allow(t settings.Target) []v1alpha1.PoolAllowance {
	var ports []string
	for _, port := range t.Backends() {
		ports = append(ports, strconv.Itoa(int(port.Number)))
	}
	slices.Sort(ports)
	return []v1alpha1.PoolAllowance{{Namespaces: []string{t.Namespace}, Ports: slices.Compact(ports)}}
}

func binding(t settings.Target) *v1alpha1.EndpointBinding {
	b := &v1alpha1.EndpointBinding{}
	b.APIVersion, b.Kind, b.Name, b.Namespace = v1alpha1.APIVersion, v1alpha1.KindEndpointBinding, t.ServiceName, t.Namespace
	b.Spec.Pools, b.Spec.Adopt = []v1alpha1.BindingPool{{Name: PoolName}}, t.SliceName
	for _, port := range t.Backends() {
		one := v1alpha1.BindingPort{Name: port.Name, Port: int32(port.Number)}
		if port.Protocol != settings.TCP {
			one.Protocol = v1alpha1.Protocol(port.Protocol)
		}
		b.Spec.Ports = append(b.Spec.Ports, one)
	}
	return b
}

// said are the variables that somebody set, and that a field says.
type said map[string]bool

func saidBy(c settings.Config) said {
	all := said{}
	for _, s := range given(c) {
		all[s.Variable] = used(c, s.Variable)
	}
	return all
}

// given are the settings that somebody set. The interval that follows from a longer
// timeout is one of them: beside that timeout its default would be a mistake.
func given(c settings.Config) []settings.Setting {
	return slices.DeleteFunc(c.Describe(), func(s settings.Setting) bool {
		return s.Origin == settings.FromDefault || s.Origin == settings.Derived && s.Variable != "HEALTH_CHECK_INTERVAL"
	})
}

// used reports whether a variable with a field has an effect: those of other sources, and
// of requests that a TCP check does not send, have none.
func used(c settings.Config, variable string) bool {
	kind, mode := c.Source.Kind, c.Health.Mode
	if variable == "SECURED_NODE_SELECTOR" {
		return kind == settings.SourceKubernetes || kind == settings.SourceIONOS
	}
	if group, ok := strings.CutPrefix(spelling.Field(variable), "spec.source."); ok {
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

func (s said) text(variable, value string) string {
	if !s[variable] {
		return ""
	}
	return value
}

func (s said) number(variable string, value int) *int32 { return field(s[variable], int32(value)) }

func (s said) flag(variable string, value bool) *bool { return field(s[variable], value) }

func (s said) duration(variable string, value time.Duration) *metav1.Duration {
	return field(s[variable], metav1.Duration{Duration: value})
}

// field is a field that is set, or left out.
func field[T any](set bool, value T) *T {
	if !set {
		return nil
	}
	return &value
}
