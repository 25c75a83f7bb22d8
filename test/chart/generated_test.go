package chart_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

const (
	chartDir = "../../helm/ionos-endpointslice-controller"
	// viewsDir is the chart of the second program.
	viewsDir = "../../helm/endpoint-views"
)

var charts = []string{chartDir, viewsDir}

// chartDefaults are the variables that the chart sets: what is right for nodes of
// the IONOS Cloud and a daemon in the cluster.
var chartDefaults = map[string]string{
	"SOURCE_KIND":         "ionos",
	"TARGET_SERVICE_NAME": "web",
	"TARGET_PORT":         "8080",
	"STORE_KIND":          "client-go",
	"LEADER_ELECTION":     "true",
	"METRICS_ADDRESS":     "0.0.0.0:8081",
}

// chartMeanings is what the chart adds to a meaning.
var chartMeanings = map[string]string{
	"SECURED_SUBNET_CIDR":       " The private LAN of the nodes.",
	"SECURED_KUBECONFIG":        " Set by `secrets.kubeconfig`.",
	"IONOS_TOKEN_FILE":          " Set by `secrets.ionosToken`.",
	"IONOS_PASSWORD_FILE":       " Set by `secrets.ionosPassword`.",
	"TARGET_NAMESPACE":          " Roles and lease are there too.",
	"TARGET_PORTS":              " `targetPort` then has no effect.",
	"LEADER_ELECTION_NAME":      " Each release needs one of its own.",
	"DOCUMENTS_DIR":             " Without `pools`, for documents in `extraVolumes`.",
	"CREDENTIALS_DIR":           " Set by `credentials`.",
	"DOCUMENTS_API":             " `crds.create` installs them.",
	"BOUNDS_SUBNETS":            " Set by `bounds`.",
	"BOUNDS_NAMESPACES":         " Set by `bounds`.",
	"BOUNDS_PORTS":              " Set by `bounds`.",
	"BOUNDS_LEAVING":            " Set by `bounds`.",
	"METRICS_ADDRESS":           " IPv6 alone: `[::]:8081`.",
	"ADMIN_ADDRESS":             " For `kubectl port-forward`.",
	"MAX_ENDPOINTS_PER_SLICE":   " See also `rbac.maxSlices`.",
	"INVENTORY_FILE_PATH":       " See `files`.",
	"HEALTH_CHECK_TLS_CA_FILE":  " See `files`.",
	"TARGET_ENDPOINTSLICE_NAME": "",
}

// chartFallbacks is what an empty value becomes if the chart decides it.
var chartFallbacks = map[string]string{
	"TARGET_NAMESPACE":     "namespace of the release",
	"LEADER_ELECTION_NAME": "name of the release",
	"SECURED_KUBECONFIG":   "file of the Secret",
	"IONOS_TOKEN_FILE":     "file of the Secret",
	"IONOS_PASSWORD_FILE":  "file of the Secret",
	"DOCUMENTS_DIR":        "folder of the ConfigMap",
	"CREDENTIALS_DIR":      "folder of the Secrets",
	"BOUNDS_SUBNETS":       "`bounds.subnets`",
	"BOUNDS_NAMESPACES":    "`bounds.namespaces`",
	"BOUNDS_PORTS":         "`bounds.ports`",
	"BOUNDS_LEAVING":       "`bounds.leaving`",
}

func TestTheGeneratedPartsAreCurrent(t *testing.T) {
	all := variables(t)
	values := filepath.Join(chartDir, "values.yaml")
	compare(t, values, between(t, read(t, values), controllerValues(all)))
	schema := filepath.Join(chartDir, "values.schema.json")
	compare(t, schema, withController(t, read(t, schema), all))
	for copied, source := range map[string]string{
		filepath.Join(chartDir, "files", "alerts.yaml"):                   "alerts.yaml",
		filepath.Join(chartDir, "files", "dashboard.json"):                "dashboard.json",
		filepath.Join(chartDir, "files", "crds", "endpointpools.yaml"):    "../crds/endpointpools.yaml",
		filepath.Join(chartDir, "files", "crds", "endpointbindings.yaml"): "../crds/endpointbindings.yaml",
		filepath.Join(viewsDir, "files", "alerts.yaml"):                   "endpoint-views-alerts.yaml",
		filepath.Join(viewsDir, "files", "dashboard.json"):                "endpoint-views-dashboard.json",
		filepath.Join(viewsDir, "files", "fleet-alerts.yaml"):             "endpoint-views-fleet-alerts.yaml",
		filepath.Join(viewsDir, "files", "fleet-dashboard.json"):          "endpoint-views-fleet-dashboard.json",
		filepath.Join(viewsDir, "files", "crds", "envoys.yaml"):           "../fleet/fleet.ablmnzde.github.io_envoys.yaml",
	} {
		compare(t, copied, read(t, filepath.Join("../../deploy/monitoring", source)))
	}
	for _, chart := range charts {
		compare(t, filepath.Join(chart, "README.md"), helmDocs(t, chart))
	}
}

// compare fails if the file is not what it should be, or makes it so.
func compare(t *testing.T, path, want string) {
	t.Helper()
	golden.Check(t, path, want, "make generate")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// between puts a text between the marks of values.yaml.
func between(t *testing.T, text, middle string) string {
	t.Helper()
	marks := regexp.MustCompile(`(?s)(# BEGIN generated[^\n]*\n).*(# END generated\n)`)
	if !marks.MatchString(text) {
		t.Fatal("values.yaml has no marks for the generated part")
	}
	return marks.ReplaceAllString(text, "${1}"+strings.ReplaceAll(middle, "$", "$$")+"${2}")
}

// controllerValues is the part of values.yaml with the variables.
func controllerValues(all []variable) string {
	var out strings.Builder
	out.WriteString("controller:\n")
	section := ""
	for _, v := range all {
		if v.section != section {
			section = v.section
			fmt.Fprintf(&out, "\n  # %s\n\n", section)
		}
		fmt.Fprintf(&out, "  # -- `%s`. %s%s\n", v.name, v.meaning, chartMeanings[v.name])
		value, set := chartDefaults[v.name]
		fallback := v.fallback
		if own, ok := chartFallbacks[v.name]; ok {
			fallback = own
		}
		if !set && fallback != "" {
			fmt.Fprintf(&out, "  # @default -- %s\n", fallback)
		}
		if !set {
			value = `""`
		}
		fmt.Fprintf(&out, "  %s: %s\n", v.key(), value)
	}
	return out.String()
}

// withController puts the variables, and the fields of documents, into the schema.
func withController(t *testing.T, schema string, all []variable) string {
	t.Helper()
	document := map[string]any{}
	if err := json.Unmarshal([]byte(schema), &document); err != nil {
		t.Fatal(err)
	}
	properties := map[string]any{}
	for _, v := range all {
		properties[v.key()] = schemaOf(v)
	}
	values := document["properties"].(map[string]any)
	values["pools"], values["bindings"] = poolsSchema(t), bindingsSchema(t)
	values["controller"] = map[string]any{
		"type": "object", "additionalProperties": false, "properties": properties,
		"required": []string{"sourceKind", "storeKind", "metricsAddress", "securedSubnetCidr"},
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var (
	oneOf    = regexp.MustCompile("One of (`[^.]*`)\\.")
	limits   = regexp.MustCompile(`Limits: (\d+) to (\d+)\.`)
	duration = regexp.MustCompile(`^(\d+(ms|s|m|h))+$`)
)

// schemaOf says what a variable may be set to. Numbers and booleans may be text,
// as --set-string and Argo CD's parameters make them; what is empty is unset.
func schemaOf(v variable) any {
	fallback := strings.Trim(v.fallback, "`")
	if m := oneOf.FindStringSubmatch(v.meaning); m != nil {
		values := []any{""}
		for _, quoted := range strings.Split(m[1], ", ") {
			word := strings.Trim(quoted, "`")
			values = append(values, word)
			if read := asYAML(word); read != word {
				values = append(values, read)
			}
		}
		return map[string]any{"enum": values}
	}
	if m := limits.FindStringSubmatch(v.meaning); m != nil {
		low, _ := strconv.Atoi(m[1])
		high, _ := strconv.Atoi(m[2])
		return map[string]any{"type": []string{"integer", "string"}, "minimum": low, "maximum": high, "pattern": "^[0-9]*$"}
	}
	switch {
	case fallback == "true" || fallback == "false":
		return map[string]any{"enum": []any{true, false, "true", "false", ""}}
	case duration.MatchString(fallback):
		return map[string]any{"type": "string", "pattern": `^(([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+)?$`}
	case v.name == "METRICS_ADDRESS":
		return map[string]any{"type": "string", "pattern": `^.+:[0-9]+$`}
	case v.name == "SECURED_SUBNET_CIDR":
		const block = `[0-9a-fA-F:.]+/[0-9]+`
		return map[string]any{
			"type": []string{"string", "array"}, "pattern": `^\s*(` + block + `\s*(,\s*` + block + `\s*)*)?$`,
			"items": map[string]any{"type": "string", "pattern": "^" + block + "$"},
		}
	case strings.Contains(v.meaning, "separated by commas"):
		return map[string]any{"type": []string{"string", "array"}, "items": map[string]any{"type": "string"}}
	}
	return map[string]any{"type": "string"}
}

// asYAML is what a word without quotes becomes in a values file: off is false.
func asYAML(word string) any {
	var read any
	if err := yaml.Unmarshal([]byte(word), &read); err != nil {
		return word
	}
	return read
}

// helmDocs is the README that helm-docs makes of a chart.
func helmDocs(t *testing.T, chart string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), built.Tool(t, "helm-docs"), "--dry-run", "--log-level=warning", "--chart-search-root="+chart)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, stderr.String())
	}
	return string(out)
}
