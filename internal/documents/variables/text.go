package variables

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
)

// PoolName is the name of the pool that is made of variables, and of its credentials.
const PoolName = "remote"

// Text returns the pool and the binding that decide what the variables do, as YAML. What
// has no field is in comments.
func Text(c config.Config) (string, error) {
	w := &writer{config: c, set: map[string]config.Setting{}}
	for _, s := range c.Describe() {
		if s.Origin != config.FromDefault && s.Origin != config.Derived {
			w.set[s.Variable] = s
		}
	}
	pool, binding := w.pool(), w.binding()
	w.rest()
	var text bytes.Buffer
	text.WriteString("# Put this into a file in DOCUMENTS_DIR, and remove the variables that it replaces.\n# No slice is written when the program starts with it: spec.adopt names today's slice.\n")
	for _, line := range w.comments {
		text.WriteString("# " + line + "\n")
	}
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	for _, document := range []tree{pool, binding} {
		if err := encoder.Encode(document.Node); err != nil {
			return "", fmt.Errorf("write documents: %w", err)
		}
	}
	return text.String(), encoder.Close()
}

// writer makes documents of a configuration.
type writer struct {
	config config.Config
	// set has the variables that somebody set and that no field says yet.
	set      map[string]config.Setting
	comments []string
}

// take returns the value of a variable that is set, which is then said.
func (w *writer) take(variable string) (string, bool) {
	s, ok := w.set[variable]
	delete(w.set, variable)
	return s.Value, ok
}

func document(kind, name string) tree {
	t := newTree()
	t.put("apiVersion", text(v1alpha1.APIVersion))
	t.put("kind", text(kind))
	t.put("metadata.name", text(name))
	return t
}

// pool makes the pool.
func (w *writer) pool() tree {
	t := document(v1alpha1.KindEndpointPool, PoolName)
	w.source(t)
	if w.credentials() {
		t.put("spec.credentials", text(PoolName))
	}
	var subnets []*yaml.Node
	for _, subnet := range w.config.Secured.Subnets {
		subnets = append(subnets, text(subnet.String()))
	}
	t.put("spec.subnets", list(subnets))
	w.take("SECURED_SUBNET_CIDR")
	w.allow(t)
	if mode, ok := w.take("HEALTH_CHECK_MODE"); ok {
		t.put("spec.healthCheck.mode", text(modeWord(mode)))
	}
	for _, s := range setting.All() {
		if value, isSet := w.set[s.Variable]; isSet && leaf(s) && w.used(s) {
			node := text(value.Value)
			if plain(s.Variable) {
				node.Tag = ""
			}
			t.put(s.Field, node)
			w.take(s.Variable)
		}
	}
	return t
}

// source puts the group of the source, and what is no single value.
func (w *writer) source(t tree) {
	kind := string(w.config.Source.Kind)
	w.take("SOURCE_KIND")
	path := "spec.source." + kind
	t.put(path, &yaml.Node{Kind: yaml.MappingNode})
	switch w.config.Source.Kind {
	case config.SourceStatic:
		w.take("STATIC_NODES")
		var nodes []*yaml.Node
		for _, node := range w.config.Static.Nodes {
			one := newTree()
			one.put("name", text(node.Name))
			one.put("addresses", list([]*yaml.Node{text(node.Addr.String())}))
			nodes = append(nodes, one.Node)
		}
		t.put(path+".nodes", list(nodes))
	case config.SourceCommand:
		if _, ok := w.take("INVENTORY_COMMAND_ARGS"); ok {
			var args []*yaml.Node
			for _, arg := range w.config.Command.Args {
				args = append(args, text(arg))
			}
			t.put(path+".args", list(args))
		}
	case config.SourceKubernetes, config.SourceIONOS:
		if value, ok := w.take("SECURED_NODE_SELECTOR"); ok {
			t.put(path+".nodeSelector", text(value))
		}
	case config.SourceFile:
	}
}

// credentials says which files belong into the folder of the credentials, and reports
// whether there is one.
func (w *writer) credentials() bool {
	found := false
	say := func(format string, args ...any) {
		if !found {
			w.comments = append(w.comments, "Put into the folder "+PoolName+" below CREDENTIALS_DIR:")
			found = true
		}
		w.comments = append(w.comments, "  "+fmt.Sprintf(format, args...))
	}
	if path, ok := w.take("SECURED_KUBECONFIG"); ok {
		say("kubeconfig: the file of SECURED_KUBECONFIG=%s", path)
	}
	if name, ok := w.take("SECURED_KUBECTL_CONTEXT"); ok {
		say("kubeconfig: make %q its current-context (SECURED_KUBECTL_CONTEXT)", name)
	}
	if name, ok := w.take("IONOS_USERNAME"); ok {
		say("username: %s (IONOS_USERNAME)", name)
	}
	for _, secret := range []struct{ variable, file string }{{"IONOS_TOKEN", "token"}, {"IONOS_PASSWORD", "password"}} {
		_, hasValue := w.take(secret.variable)
		path, hasFile := w.take(secret.variable + "_FILE")
		switch {
		case hasFile:
			say("%s: the file of %s_FILE=%s", secret.file, secret.variable, path)
		case hasValue:
			say("%s: the value of %s", secret.file, secret.variable)
		}
	}
	if path, ok := w.take("HEALTH_CHECK_TLS_CA_FILE"); ok {
		say("ca.crt: the file of HEALTH_CHECK_TLS_CA_FILE=%s", path)
	}
	return found
}

// allow lets the namespace of the Service use its ports, and nothing else.
func (w *writer) allow(t tree) {
	var ports []*yaml.Node
	for _, port := range w.config.Target.Backends() {
		ports = append(ports, text(strconv.Itoa(int(port.Number))))
	}
	entry := newTree()
	entry.put("namespaces", list([]*yaml.Node{text(w.config.Target.Namespace)}))
	entry.put("ports", list(unique(ports)))
	t.put("spec.allow", list([]*yaml.Node{entry.Node}))
}

// unique drops what is said twice: one number may be a TCP and a UDP port.
func unique(nodes []*yaml.Node) []*yaml.Node {
	return slices.CompactFunc(slices.SortedStableFunc(slices.Values(nodes), func(a, b *yaml.Node) int { return strings.Compare(a.Value, b.Value) }),
		func(a, b *yaml.Node) bool { return a.Value == b.Value })
}

// binding makes the binding.
func (w *writer) binding() tree {
	target := w.config.Target
	t := document(v1alpha1.KindEndpointBinding, target.ServiceName)
	t.put("metadata.namespace", text(target.Namespace))
	pool := newTree()
	pool.put("name", text(PoolName))
	t.put("spec.pools", list([]*yaml.Node{pool.Node}))
	var ports []*yaml.Node
	for _, port := range target.Backends() {
		one := newTree()
		if port.Name != "" {
			one.put("name", text(port.Name))
		}
		one.put("port", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(int(port.Number))})
		if port.Protocol != config.TCP {
			one.put("protocol", text(string(port.Protocol)))
		}
		ports = append(ports, one.Node)
	}
	t.put("spec.ports", list(ports))
	t.put("spec.adopt", text(target.SliceName))
	for _, variable := range []string{"TARGET_NAMESPACE", "TARGET_SERVICE_NAME", "TARGET_PORT", "TARGET_PORTS", "TARGET_ENDPOINTSLICE_NAME"} {
		w.take(variable)
	}
	return t
}

// rest says what stays a variable, and what has no effect.
func (w *writer) rest() {
	for _, s := range w.config.Describe() {
		if _, left := w.set[s.Variable]; !left {
			continue
		}
		value := s.Value
		if s.Secret {
			value = "..."
		}
		if fieldOf(s.Variable) == "" {
			w.comments = append(w.comments, s.Variable+"="+value+" stays a variable.")
		} else {
			w.comments = append(w.comments, s.Variable+"="+value+" has no effect: remove it.")
		}
	}
}
