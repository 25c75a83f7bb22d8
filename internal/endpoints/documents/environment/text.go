package environment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Text returns the documents of the variables as YAML. What has no field is in comments.
func Text(c settings.Config) (string, error) {
	var text strings.Builder
	text.WriteString("# Put this into a file in DOCUMENTS_DIR, and remove the variables that it replaces.\n# No slice is written when the program starts with it: spec.adopt names today's slice.\n")
	for _, line := range slices.Concat(credentials(c), rest(c)) {
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			line = strconv.Quote(line) // it would leave the comment
		}
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

// files say what in the folder of the credentials takes the place of a variable.
var files = map[string]string{
	"SECURED_KUBECONFIG":       "kubeconfig: the file of SECURED_KUBECONFIG=VALUE",
	"SECURED_KUBECTL_CONTEXT":  `kubeconfig: make "VALUE" its current-context (SECURED_KUBECTL_CONTEXT)`,
	"IONOS_USERNAME":           "username: VALUE (IONOS_USERNAME)",
	"IONOS_TOKEN":              "token: the value of IONOS_TOKEN",
	"IONOS_TOKEN_FILE":         "token: the file of IONOS_TOKEN_FILE=VALUE",
	"IONOS_PASSWORD":           "password: the value of IONOS_PASSWORD",
	"IONOS_PASSWORD_FILE":      "password: the file of IONOS_PASSWORD_FILE=VALUE",
	"HEALTH_CHECK_TLS_CA_FILE": "ca.crt: the file of HEALTH_CHECK_TLS_CA_FILE=VALUE",
}

// credentials says which files belong into the folder of the credentials. There are no
// lines where no file does.
func credentials(c settings.Config) []string {
	var lines []string
	for _, s := range given(c) {
		if says, ok := files[s.Variable]; ok && s.Origin != settings.FromFile {
			lines = append(lines, "  "+strings.Replace(says, "VALUE", s.Value, 1))
		}
	}
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, "Put into the folder "+PoolName+" below CREDENTIALS_DIR:")
	}
	return lines
}

// rest says what stays a variable, and what has no effect.
func rest(c settings.Config) []string {
	var lines []string
	for _, s := range given(c) {
		switch {
		case naming.Field(s.Variable) == "":
			lines = append(lines, s.Variable+"="+s.Value+" stays a variable.")
		case !used(c, s.Variable):
			lines = append(lines, s.Variable+"="+s.Value+" has no effect: remove it.")
		}
	}
	return lines
}
