package variables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
)

// Text returns the documents of the variables as YAML. What has no field is in comments.
func Text(c config.Config) (string, error) {
	var text bytes.Buffer
	text.WriteString("# Put this into a file in DOCUMENTS_DIR, and remove the variables that it replaces.\n# No slice is written when the program starts with it: spec.adopt names today's slice.\n")
	for _, line := range slices.Concat(credentials(c), rest(c)) {
		text.WriteString("# " + line + "\n")
	}
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	pool, binding := Documents(c)
	for _, document := range []any{pool, binding} {
		node, err := written(document)
		if err == nil {
			err = encoder.Encode(node)
		}
		if err != nil {
			return "", fmt.Errorf("write documents: %w", err)
		}
	}
	return text.String(), encoder.Close()
}

// credentials says which files belong into the folder of the credentials. There are no
// lines where no file does.
func credentials(c config.Config) []string {
	values := map[string]string{}
	for _, s := range given(c) {
		values[s.Variable] = s.Value
	}
	var lines []string
	say := func(variable, format string) {
		if value, ok := values[variable]; ok {
			lines = append(lines, fmt.Sprintf("  "+format, value))
		}
	}
	secret := func(variable, file string) {
		if path, ok := values[variable+"_FILE"]; ok {
			lines = append(lines, fmt.Sprintf("  %s: the file of %s_FILE=%s", file, variable, path))
		} else if _, ok := values[variable]; ok {
			lines = append(lines, fmt.Sprintf("  %s: the value of %s", file, variable))
		}
	}
	say("SECURED_KUBECONFIG", "kubeconfig: the file of SECURED_KUBECONFIG=%s")
	say("SECURED_KUBECTL_CONTEXT", "kubeconfig: make %q its current-context (SECURED_KUBECTL_CONTEXT)")
	say("IONOS_USERNAME", "username: %s (IONOS_USERNAME)")
	secret("IONOS_TOKEN", "token")
	secret("IONOS_PASSWORD", "password")
	say("HEALTH_CHECK_TLS_CA_FILE", "ca.crt: the file of HEALTH_CHECK_TLS_CA_FILE=%s")
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, "Put into the folder "+PoolName+" below CREDENTIALS_DIR:")
	}
	return lines
}

// rest says what stays a variable, and what has no effect.
func rest(c config.Config) []string {
	var lines []string
	for _, s := range given(c) {
		value := s.Value
		if s.Secret {
			value = "..."
		}
		switch {
		case fieldOf(s.Variable) == "":
			lines = append(lines, s.Variable+"="+value+" stays a variable.")
		case !used(c, s.Variable):
			lines = append(lines, s.Variable+"="+value+" has no effect: remove it.")
		}
	}
	return lines
}

// written is a document in the order of its fields.
func written(document any) (*yaml.Node, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil { // JSON is YAML
		return nil, err
	}
	fields := root.Content[0]
	unJSON(fields)
	fields.Content = slices.Concat(fields.Content[2:4], fields.Content[:2], fields.Content[4:]) // apiVersion, then kind
	return fields, nil
}

// unJSON writes as a person does: without quotes and braces where they are not needed, a
// list of single values on one line, and without what is empty but a source.
func unJSON(node *yaml.Node) {
	node.Style = 0
	if node.Kind == yaml.SequenceNode && node.Content[0].Kind == yaml.ScalarNode {
		node.Style = yaml.FlowStyle
	}
	for i := len(node.Content) - 2; node.Kind == yaml.MappingNode && i >= 0; i -= 2 {
		name, group := node.Content[i].Value, node.Content[i+1]
		if name == "status" || len(group.Content) == 0 && (name == "healthCheck" || name == "guard") {
			node.Content = slices.Delete(node.Content, i, i+2)
		}
	}
	for _, child := range node.Content {
		unJSON(child)
	}
}
