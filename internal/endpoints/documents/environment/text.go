package environment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Text returns the documents of the variables as YAML. What has no field is in comments.
func Text(c settings.Config) (string, error) {
	var text strings.Builder
	text.WriteString("# Put this into a file in DOCUMENTS_DIR, and remove the variables that it replaces.\n# No slice is written when the program starts with it: spec.adopt names today's slice.\n")
	for _, line := range slices.Concat(credentials(c), rest(c)) {
		text.WriteString("# " + line + "\n")
	}
	pool, binding := Documents(c)
	for i, document := range []any{pool, binding} {
		written, err := documents.YAML(document)
		if err != nil {
			return "", fmt.Errorf("write documents: %w", err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(written)
	}
	return text.String(), nil
}

// credentials says which files belong into the folder of the credentials. There are no
// lines where no file does.
func credentials(c settings.Config) []string {
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
func rest(c settings.Config) []string {
	var lines []string
	for _, s := range given(c) {
		value := s.Value
		if s.Secret {
			value = "..."
		}
		switch {
		case naming.Field(s.Variable) == "":
			lines = append(lines, s.Variable+"="+value+" stays a variable.")
		case !used(c, s.Variable):
			lines = append(lines, s.Variable+"="+value+" has no effect: remove it.")
		}
	}
	return lines
}
