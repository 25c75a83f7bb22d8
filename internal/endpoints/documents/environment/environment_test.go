package environment_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	names "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

type env map[string]string

func (e env) list() []string {
	var list []string
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

func (e env) with(more env) env {
	all := maps.Clone(e)
	maps.Copy(all, more)
	return all
}

var static = env{"STATIC_NODES": "w1=10.0.0.11,w2=10.0.0.12", "SECURED_SUBNET_CIDR": "10.0.0.0/24", "TARGET_SERVICE_NAME": "web", "TARGET_PORT": "8080"}

// folderOf is a folder of credentials with every file.
func folderOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"kubeconfig", "token", "password"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("geheim"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// carried are the documents of the variables with their defaults, and their text. It is an
// error if the text is read as anything else.
func carried(t *testing.T, environ env) (c settings.Config, pool *v1alpha1.EndpointPool, binding *v1alpha1.EndpointBinding, text string) {
	t.Helper()
	c, err := environment.Load(environ.list())
	if err != nil {
		t.Fatal(err)
	}
	if text, err = environment.Text(c); err != nil {
		t.Fatal(err)
	}
	set := documents.Advance(documents.Set{}, documents.Folder{Files: []documents.File{{Name: "a", Data: []byte(text)}}})
	if len(set.Mistakes) > 0 {
		t.Errorf("%v\n%s", set.Mistakes, text)
	}
	found := documents.Decode("documents.yaml", []byte(text))
	if len(found) != 2 || found[0].Pool == nil || found[1].Binding == nil {
		t.Fatalf("got %d documents of\n%s", len(found), text)
	}
	pool, binding = environment.Documents(c)
	pool.SetDefaults()
	binding.SetDefaults()
	if diff := cmp.Diff(pool, found[0].Pool); diff != "" {
		t.Errorf("(-variables +text):\n%s\n%s", diff, text)
	}
	if diff := cmp.Diff(binding, found[1].Binding); diff != "" {
		t.Errorf("(-variables +text):\n%s\n%s", diff, text)
	}
	return c, pool, binding, text
}

// valuesOf are the single values of documents by field, as variables spell them.
func valuesOf(t *testing.T, documents ...any) map[string]string {
	t.Helper()
	all := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, field := range value {
				walk(strings.TrimPrefix(path+"."+name, "."), field)
			}
		case []any:
			var words []string
			for _, entry := range value {
				word, ok := entry.(string)
				if !ok {
					return
				}
				words = append(words, word)
			}
			all[path] = strings.Join(words, ",")
		default:
			all[path] = fmt.Sprint(value)
		}
	}
	for _, document := range documents {
		data, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		walk("", fields)
	}
	all["spec.source.kubernetes.nodeSelector"] += all["spec.source.ionos.nodeSelector"]
	return all
}

// alike reports whether a variable and a field have one value.
func alike(s names.Setting, variable, field string) bool {
	for _, word := range s.Words {
		if word.Variable == variable {
			return word.Document == field
		}
	}
	a, err := time.ParseDuration(variable)
	b, wrong := time.ParseDuration(field)
	return variable == field || err == nil && wrong == nil && a == b
}

// changes has for each variable an environment in which it is not at its default.
func changes(dir string) map[string]env {
	cloud := env{
		"SOURCE_KIND": "ionos", "STATIC_NODES": "", "IONOS_TOKEN_FILE": filepath.Join(dir, "token"),
		"IONOS_DATACENTER_ID": "8feda53f-15f0-447f-badf-ebe32dad2fc0", "IONOS_PRIVATE_LAN_ID": "2", "IONOS_CLUSTER_ID": "8feda53f-15f0-447f-badf-ebe32dad2fc1",
	}
	byPassword := cloud.with(env{"IONOS_TOKEN_FILE": "", "IONOS_USERNAME": "me", "IONOS_PASSWORD_FILE": filepath.Join(dir, "password")})
	remote := env{"SOURCE_KIND": "kubernetes", "STATIC_NODES": "", "SECURED_KUBECONFIG": filepath.Join(dir, "kubeconfig")}
	command := env{"SOURCE_KIND": "command", "STATIC_NODES": "", "INVENTORY_COMMAND": "/bin/list"}
	http, https := env{"HEALTH_CHECK_MODE": "http"}, env{"HEALTH_CHECK_MODE": "https"}
	file := env{"SOURCE_KIND": "file", "STATIC_NODES": "", "INVENTORY_FILE_PATH": "/etc/inventory.json"}
	ports := env{"TARGET_PORT": "", "TARGET_PORTS": "http=8080,dns=53/UDP,more=53"}
	return map[string]env{
		"SOURCE_KIND": file, "SOURCE_POLL_INTERVAL": {"SOURCE_POLL_INTERVAL": "90s"}, "SOURCE_TIMEOUT": {"SOURCE_TIMEOUT": "5s"},
		"STATIC_NODES": {"STATIC_NODES": "other=10.0.0.9"}, "INVENTORY_FILE_PATH": file,
		"INVENTORY_COMMAND": command, "INVENTORY_COMMAND_ARGS": command.with(env{"INVENTORY_COMMAND_ARGS": `--pool 'web workers' "12" ''`}),
		"INVENTORY_COMMAND_ENV": command.with(env{"INVENTORY_COMMAND_ENV": "LANG"}),
		"SECURED_SUBNET_CIDR":   {"SECURED_SUBNET_CIDR": "10.0.0.0/24,fd00:10::/64"}, "SECURED_KUBECONFIG": remote,
		"SECURED_KUBECTL_CONTEXT": remote.with(env{"SECURED_KUBECTL_CONTEXT": "blue"}),
		"SECURED_NODE_SELECTOR":   remote.with(env{"SECURED_NODE_SELECTOR": "pool=web,tier!=edge"}),
		"REMOTE_SERVICE":          remote.with(env{"REMOTE_SERVICE": "far/web"}),
		"IONOS_TOKEN":             cloud, "IONOS_TOKEN_FILE": cloud, "IONOS_USERNAME": byPassword, "IONOS_PASSWORD": byPassword, "IONOS_PASSWORD_FILE": byPassword,
		"IONOS_API_URL": cloud.with(env{"IONOS_API_URL": "https://api.example.com"}), "IONOS_DATACENTER_ID": cloud, "IONOS_PRIVATE_LAN_ID": cloud, "IONOS_CLUSTER_ID": cloud,
		"TARGET_NAMESPACE": {"TARGET_NAMESPACE": "shop"}, "TARGET_SERVICE_NAME": {"TARGET_SERVICE_NAME": "other"},
		"TARGET_ENDPOINTSLICE_NAME": {"TARGET_ENDPOINTSLICE_NAME": "mine"}, "TARGET_MANAGED_BY": {"TARGET_MANAGED_BY": "me"},
		"TARGET_PORT": {"TARGET_PORT": "81"}, "TARGET_PORTS": ports.with(env{"HEALTH_CHECK_PORT": "53"}), "MAX_ENDPOINTS_PER_SLICE": {"MAX_ENDPOINTS_PER_SLICE": "7"},
		"HEALTH_CHECK_MODE": {"HEALTH_CHECK_MODE": "off", "HEALTH_CHECK_PATH": "/x"}, "HEALTH_CHECK_PATH": http.with(env{"HEALTH_CHECK_PATH": "/a?b=c"}),
		"HEALTH_CHECK_HOST": http.with(env{"HEALTH_CHECK_HOST": "10.0.0.1"}), "HEALTH_CHECK_PORT": {"HEALTH_CHECK_PORT": "10256"},
		"HEALTH_CHECK_EXPECTED_STATUS": http.with(env{"HEALTH_CHECK_EXPECTED_STATUS": "204"}),
		"HEALTH_CHECK_INTERVAL":        {"HEALTH_CHECK_INTERVAL": "300ms"}, "HEALTH_CHECK_TIMEOUT": {"HEALTH_CHECK_TIMEOUT": "1500ms"},
		"HEALTH_CHECK_RISE": {"HEALTH_CHECK_RISE": "5"}, "HEALTH_CHECK_FALL": {"HEALTH_CHECK_FALL": "6"}, "HEALTH_CHECK_CONCURRENCY": {"HEALTH_CHECK_CONCURRENCY": "9"},
		"HEALTH_CHECK_HOLD_CONNECTION": {"HEALTH_CHECK_HOLD_CONNECTION": "true"},
		"HEALTH_CHECK_TLS_CA_FILE":     https.with(env{"HEALTH_CHECK_TLS_CA_FILE": filepath.Join(dir, "ca.crt")}),
		"HEALTH_CHECK_TLS_SERVER_NAME": https.with(env{"HEALTH_CHECK_TLS_SERVER_NAME": "web.example.com"}),
		"HEALTH_CHECK_TLS_INSECURE":    https.with(env{"HEALTH_CHECK_TLS_INSECURE": "true"}),
		"EMPTY_RESULT_THRESHOLD":       {"EMPTY_RESULT_THRESHOLD": "0"}, "MAX_REMOVAL_PERCENT": {"MAX_REMOVAL_PERCENT": "0"}, "DRAIN_PERIOD": {"DRAIN_PERIOD": "0s"},
		"HEALTH_CHECK_MAX_SILENT_PERCENT": {"HEALTH_CHECK_MAX_SILENT_PERCENT": "99"}, "HEALTH_CHECK_FAIL_OPEN": {"HEALTH_CHECK_FAIL_OPEN": "false"},
		"STORE_KIND": {"STORE_KIND": "client-go"}, "KUBECONFIG": {"KUBECONFIG": "/k"}, "KUBECTL_PATH": {"KUBECTL_PATH": "/bin/kubectl"},
		"LEADER_ELECTION":           {"STORE_KIND": "client-go", "LEADER_ELECTION": "true"},
		"LEADER_ELECTION_NAMESPACE": {"LEADER_ELECTION_NAMESPACE": "x"}, "LEADER_ELECTION_NAME": {"LEADER_ELECTION_NAME": "x"}, "NODE_NAME": {"NODE_NAME": "node-1"},
		"ADMIN_ADDRESS": {"ADMIN_ADDRESS": "127.0.0.1:1"}, "METRICS_ADDRESS": {"METRICS_ADDRESS": "127.0.0.1:2"},
		"LOG_LEVEL": {"LOG_LEVEL": "debug"}, "LOG_FORMAT": {"LOG_FORMAT": "json"}, "DRY_RUN": {"DRY_RUN": "true"},
	}
}

// elsewhere are the variables whose field is no single value, with what tells of them.
var elsewhere = map[string]string{
	"SOURCE_KIND": "  source:\n    file:\n", "STATIC_NODES": "- addresses:\n        - 10.0.0.9\n        name: other\n",
	"INVENTORY_COMMAND_ARGS": "args:\n      - --pool\n      - web workers\n      - \"12\"\n      - \"\"\n", "SECURED_KUBECONFIG": "#   kubeconfig: the file of SECURED_KUBECONFIG=",
	"REMOTE_SERVICE":          "- name: remote\n    remoteService:\n      name: web\n      namespace: far\n",
	"SECURED_KUBECTL_CONTEXT": `#   kubeconfig: make "blue" its current-context`, "IONOS_TOKEN": "#   token: the file of IONOS_TOKEN_FILE=",
	"IONOS_TOKEN_FILE": "#   token: the file of IONOS_TOKEN_FILE=", "IONOS_USERNAME": "#   username: me ", "IONOS_PASSWORD": "#   password: the file of IONOS_PASSWORD_FILE=",
	"IONOS_PASSWORD_FILE": "#   password: the file of IONOS_PASSWORD_FILE=", "TARGET_PORT": "ports:\n  - port: 81\n",
	"TARGET_PORTS":             "- name: http\n    port: 8080\n  - name: dns\n    port: 53\n    protocol: UDP\n  - name: more\n    port: 53\n",
	"HEALTH_CHECK_TLS_CA_FILE": "#   ca.crt: the file of HEALTH_CHECK_TLS_CA_FILE=",
}

func TestContract223EveryVariableIsInTheDocuments(t *testing.T) {
	t.Parallel()
	dir := folderOf(t)
	all := changes(dir)
	for _, s := range (settings.Config{}).Describe() {
		change, ok := all[s.Variable]
		if strings.HasPrefix(s.Variable, "DOCUMENTS_") || strings.HasPrefix(s.Variable, "BOUNDS_") || s.Variable == "CREDENTIALS_DIR" {
			continue // what takes the place of the others
		}
		if !ok {
			t.Errorf("%s is not tried", s.Variable)
			continue
		}
		t.Run(s.Variable, func(t *testing.T) {
			t.Parallel()
			c, pool, binding, text := carried(t, static.with(change))
			tells, values := elsewhere[s.Variable], valuesOf(t, pool, binding)
			for _, setting := range c.Describe() {
				var known names.Setting
				if i := slices.IndexFunc(names.All(), func(other names.Setting) bool { return other.Variable == setting.Variable }); i >= 0 {
					known = names.All()[i]
				}
				value, ok := values[known.Field]
				if ok && elsewhere[setting.Variable] == "" && setting.Origin != settings.Derived && setting.Value != "" && !alike(known, setting.Value, value) {
					t.Errorf("got %s=%s and %s: %s", setting.Variable, setting.Value, known.Field, value)
				}
				if setting.Variable == s.Variable && known.Field == "" {
					tells = "# " + s.Variable + "=" + setting.Value + " stays a variable.\n"
				}
				if setting.Variable == s.Variable && tells == "" && (!ok || setting.Origin != settings.FromEnvironment) {
					t.Errorf("%s=%s has no field", s.Variable, setting.Value)
				}
			}
			if !strings.Contains(text, tells) {
				t.Errorf("no %q in\n%s", tells, text)
			}
			if strings.Contains(text, "geheim") {
				t.Errorf("a secret is repeated:\n%s", text)
			}
		})
	}
}

// An interval that follows from the timeout is written: beside the default it would be a
// mistake.
func TestContract223ALongTimeoutBringsItsInterval(t *testing.T) {
	t.Parallel()
	if _, pool, _, _ := carried(t, static.with(env{"HEALTH_CHECK_TIMEOUT": "3s"})); pool.Spec.HealthCheck.Interval.Duration != 3*time.Second {
		t.Errorf("got %v", pool.Spec.HealthCheck.Interval)
	}
}

func TestWhatHasNoFieldIsInAComment(t *testing.T) {
	t.Parallel()
	_, _, _, text := carried(t, static.with(env{
		"SOURCE_TIMEOUT": "5s", "HEALTH_CHECK_MODE": "tcp", "HEALTH_CHECK_PATH": "/x", "INVENTORY_FILE_PATH": "/y", "DRY_RUN": "true", "IONOS_TOKEN": "geheim",
	}))
	for _, want := range []string{
		"# SOURCE_TIMEOUT=5s stays a variable.", "# DRY_RUN=true stays a variable.", "#   token: the value of IONOS_TOKEN\n",
		"# HEALTH_CHECK_PATH=/x has no effect: remove it.", "# INVENTORY_FILE_PATH=/y has no effect: remove it.",
		"adopt: web-remote",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "geheim") {
		t.Errorf("a secret is repeated:\n%s", text)
	}
}

// A value stays in its comment, and shows no character that a terminal hides.
func TestContract189ACommentIsOneLine(t *testing.T) {
	t.Parallel()
	_, _, _, text := carried(t, static.with(env{"KUBECONFIG": "/a\nkind: EndpointPool", "SECURED_KUBECTL_CONTEXT": "blue\x1b[2J\n---\n"}))
	for _, want := range []string{`# "KUBECONFIG=/a\nkind: EndpointPool stays a variable."`, `\x1b[2J\n--- `} {
		if !strings.Contains(text, strings.TrimSpace(want)) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Contract 223: what is wrong in a document is wrong in variables, and the message names the
// variable. Lists may be longer than in documents, and subnets larger.
func TestContract223VariablesAreJudgedAsDocuments(t *testing.T) {
	t.Parallel()
	_, err := environment.Load(static.with(env{"TARGET_ENDPOINTSLICE_NAME": strings.Repeat("x", 244), "STATIC_NODES": "a=10.0.0.1,a=10.0.0.300"}).list())
	if err == nil {
		t.Fatal("got no mistake")
	}
	for _, want := range []string{
		"3 mistakes", `STATIC_NODES="a=10.0.0.1,a=10.0.0.300": "a" is the name of another node of the list; give each node a name of its own`,
		`STATIC_NODES="a=10.0.0.1,a=10.0.0.300": "10.0.0.300" is not an IP address; write for example 10.0.0.11`,
		"(244 bytes): has more than 243 characters; write a shorter one",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	var nodes, subnets []string
	for i := range 1001 {
		nodes = append(nodes, fmt.Sprintf("w%d=10.0.%d.%d", i, i/200, i%200+1))
	}
	for i := range 17 {
		subnets = append(subnets, fmt.Sprintf("10.%d.0.0/16", i))
	}
	for _, more := range []env{
		{"STATIC_NODES": strings.Join(nodes, ",")}, {"SECURED_SUBNET_CIDR": strings.Join(subnets, ",")}, {"SECURED_SUBNET_CIDR": "0.0.0.0/0"},
		{"SOURCE_KIND": "command", "STATIC_NODES": "", "INVENTORY_COMMAND": "x", "INVENTORY_COMMAND_ARGS": strings.Repeat("x ", 101)},
	} {
		if _, err := environment.Load(static.with(more).list()); err != nil {
			t.Error(err)
		}
	}
}
