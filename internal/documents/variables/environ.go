package variables

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
)

// Credentials are the folder of a pool, and the names of the files in it.
type Credentials struct {
	Dir   string
	Files []string
	// Username is what the file username holds.
	Username string
}

// Environ returns the variables that decide what a valid pool does for a valid binding
// of it alone, so that config.Load makes typed values of them. Binding and pool have
// their defaults. The health check is the binding's where it has one. An error says what
// has no variable: nodes of a fixed list with zones or several addresses, and a port
// without a name that is not TCP.
func Environ(pool *v1alpha1.EndpointPool, binding *v1alpha1.EndpointBinding, credentials Credentials) ([]string, error) {
	if err := sayable(pool, binding); err != nil {
		return nil, err
	}
	merged := pool.DeepCopy()
	if own := binding.Spec.HealthCheck; own != nil {
		c := &merged.Spec.HealthCheck
		c.Mode, c.Port, c.Path, c.Host, c.ExpectedStatus = own.Mode, own.Port, own.Path, own.Host, own.ExpectedStatus
	}
	data, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pool.Name, err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", pool.Name, err)
	}
	var environ []string
	add := func(name, value string) { environ = append(environ, name+"="+value) }
	for _, s := range setting.All() {
		if value, ok := valueAt(fields, s.Field); ok && leaf(s) {
			add(s.Variable, value)
		}
	}
	add("SECURED_SUBNET_CIDR", strings.Join(pool.Spec.Subnets, ","))
	for _, word := range words() {
		if word.Document == string(merged.Spec.HealthCheck.Mode) {
			add("HEALTH_CHECK_MODE", word.Variable)
		}
	}
	environ = append(environ, ofSource(&pool.Spec.Source)...)
	environ = append(environ, ofCredentials(credentials, merged.Spec.HealthCheck.Mode)...)
	return append(environ, ofBinding(binding, pool.Name)...), nil
}

// sayable refuses what has no variable.
func sayable(pool *v1alpha1.EndpointPool, binding *v1alpha1.EndpointBinding) error {
	if s := pool.Spec.Source.Static; s != nil {
		for _, node := range s.Nodes {
			if node.Zone != "" || len(node.Addresses) != 1 {
				return fmt.Errorf("pool %s: node %s has a zone or several addresses, for which there is no variable", pool.Name, node.Name)
			}
		}
	}
	if ports := binding.Spec.Ports; len(ports) == 1 && ports[0].Name == "" && ports[0].Protocol != v1alpha1.ProtocolTCP {
		return fmt.Errorf("binding %s/%s: a port without a name that is not TCP has no variable", binding.Namespace, binding.Name)
	}
	return nil
}

// valueAt returns one value as a variable spells it.
func valueAt(fields map[string]any, path string) (string, bool) {
	name, rest, below := strings.Cut(path, ".")
	switch value := fields[name].(type) {
	case map[string]any:
		return valueAt(value, rest)
	case string:
		return value, !below
	case bool:
		return strconv.FormatBool(value), !below
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), !below
	}
	return "", false
}

func ofSource(s *v1alpha1.PoolSource) []string {
	var kind config.SourceKind
	var more []string
	switch {
	case s.Kubernetes != nil:
		kind, more = config.SourceKubernetes, []string{"SECURED_NODE_SELECTOR=" + s.Kubernetes.NodeSelector}
	case s.IONOS != nil:
		kind, more = config.SourceIONOS, []string{"SECURED_NODE_SELECTOR=" + s.IONOS.NodeSelector}
	case s.File != nil:
		kind = config.SourceFile
	case s.Command != nil:
		kind, more = config.SourceCommand, []string{"INVENTORY_COMMAND_ARGS=" + config.Args(s.Command.Args).String()}
	case s.Static != nil:
		kind = config.SourceStatic
		var nodes []string
		for _, node := range s.Static.Nodes {
			nodes = append(nodes, node.Name+"="+node.Addresses[0])
		}
		more = []string{"STATIC_NODES=" + strings.Join(nodes, ",")}
	}
	return append(more, "SOURCE_KIND="+string(kind))
}

func ofCredentials(c Credentials, mode v1alpha1.HealthCheckMode) []string {
	environ := []string{"IONOS_USERNAME=" + c.Username}
	for _, file := range []struct{ name, variable string }{
		{"kubeconfig", "SECURED_KUBECONFIG"}, {"token", "IONOS_TOKEN_FILE"}, {"password", "IONOS_PASSWORD_FILE"}, {"ca.crt", "HEALTH_CHECK_TLS_CA_FILE"},
	} {
		if slices.Contains(c.Files, file.name) && (file.name != "ca.crt" || mode == v1alpha1.HealthCheckHTTPS) {
			environ = append(environ, file.variable+"="+filepath.Join(c.Dir, file.name))
		}
	}
	return environ
}

func ofBinding(b *v1alpha1.EndpointBinding, pool string) []string {
	slice := b.Spec.Adopt
	if slice == "" {
		slice = b.Name + "." + pool
	}
	environ := []string{"TARGET_NAMESPACE=" + b.Namespace, "TARGET_SERVICE_NAME=" + b.Name, "TARGET_ENDPOINTSLICE_NAME=" + slice}
	if ports := b.Spec.Ports; len(ports) == 1 && ports[0].Name == "" {
		return append(environ, "TARGET_PORT="+strconv.Itoa(int(ports[0].Port)))
	}
	var ports []string
	for _, port := range b.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s=%d/%s", port.Name, port.Port, port.Protocol))
	}
	return append(environ, "TARGET_PORTS="+strings.Join(ports, ","))
}
