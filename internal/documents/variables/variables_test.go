package variables_test

import (
	"encoding/pem"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents/variables"
	names "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
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
func folderOf(t *testing.T) variables.Credentials {
	t.Helper()
	c := variables.Credentials{Dir: filepath.Join(t.TempDir(), "remote"), Username: "me"}
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubeconfig", "token", "password"} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte("geheim"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(c.Dir, "ca.crt"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// back turns a configuration into documents, and these into a configuration.
func back(t *testing.T, environ env, credentials variables.Credentials) (before, after config.Config, text string) {
	t.Helper()
	before, err := config.Load(environ.list())
	if err != nil {
		t.Fatal(err)
	}
	if text, err = variables.Text(before); err != nil {
		t.Fatal(err)
	}
	found := documents.Decode("documents.yaml", []byte(text))
	for _, d := range found {
		for _, m := range d.Mistakes {
			t.Errorf("%v\n%s", m, text)
		}
	}
	if len(found) != 2 || found[0].Pool == nil || found[1].Binding == nil {
		t.Fatalf("got %d documents of\n%s", len(found), text)
	}
	set := documents.Advance(documents.Set{}, documents.Folder{Files: []documents.File{{Name: "a", Data: []byte(text)}}})
	if len(set.Mistakes) > 0 {
		t.Errorf("the pool forbids its binding: %v\n%s", set.Mistakes, text)
	}
	again, err := variables.Environ(found[0].Pool, found[1].Binding, credentials)
	if err != nil {
		t.Fatal(err)
	}
	// What stays a variable is one.
	for name, value := range environ {
		if i := slices.IndexFunc(names.All(), func(s names.Setting) bool { return s.Variable == name }); i < 0 || names.All()[i].Field == "" {
			if !slices.ContainsFunc(again, func(entry string) bool { return strings.HasPrefix(entry, name+"=") }) {
				again = append(again, name+"="+value)
			}
		}
	}
	if after, err = config.Load(again); err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, strings.Join(again, "\n"))
	}
	return before, after, text
}

// settings are the effective values by variable.
func settings(c config.Config) map[string]string {
	all := map[string]string{}
	for _, s := range c.Describe() {
		all[s.Variable] = s.Value
	}
	return all
}

// changes has for each variable an environment in which it is not at its default.
func changes(credentials variables.Credentials) map[string]env {
	cloud := env{
		"SOURCE_KIND": "ionos", "STATIC_NODES": "", "IONOS_TOKEN_FILE": filepath.Join(credentials.Dir, "token"),
		"IONOS_DATACENTER_ID": "8feda53f-15f0-447f-badf-ebe32dad2fc0", "IONOS_PRIVATE_LAN_ID": "2", "IONOS_CLUSTER_ID": "8feda53f-15f0-447f-badf-ebe32dad2fc1",
	}
	byPassword := cloud.with(env{"IONOS_TOKEN_FILE": "", "IONOS_USERNAME": "me", "IONOS_PASSWORD_FILE": filepath.Join(credentials.Dir, "password")})
	remote := env{"SOURCE_KIND": "kubernetes", "STATIC_NODES": "", "SECURED_KUBECONFIG": filepath.Join(credentials.Dir, "kubeconfig")}
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
		"HEALTH_CHECK_TLS_CA_FILE":     https.with(env{"HEALTH_CHECK_TLS_CA_FILE": filepath.Join(credentials.Dir, "ca.crt")}),
		"HEALTH_CHECK_TLS_SERVER_NAME": https.with(env{"HEALTH_CHECK_TLS_SERVER_NAME": "web.example.com"}),
		"HEALTH_CHECK_TLS_INSECURE":    https.with(env{"HEALTH_CHECK_TLS_INSECURE": "true"}),
		"EMPTY_RESULT_THRESHOLD":       {"EMPTY_RESULT_THRESHOLD": "0"}, "MAX_REMOVAL_PERCENT": {"MAX_REMOVAL_PERCENT": "0"}, "DRAIN_PERIOD": {"DRAIN_PERIOD": "0s"},
		"HEALTH_CHECK_MAX_SILENT_PERCENT": {"HEALTH_CHECK_MAX_SILENT_PERCENT": "99"}, "HEALTH_CHECK_FAIL_OPEN": {"HEALTH_CHECK_FAIL_OPEN": "false"},
		"STORE_KIND": {"STORE_KIND": "client-go"}, "KUBECONFIG": {"KUBECONFIG": "/k"}, "KUBECTL_PATH": {"KUBECTL_PATH": "/bin/kubectl"},
		"LEADER_ELECTION":           {"STORE_KIND": "client-go", "LEADER_ELECTION": "true"},
		"LEADER_ELECTION_NAMESPACE": {"LEADER_ELECTION_NAMESPACE": "x"}, "LEADER_ELECTION_NAME": {"LEADER_ELECTION_NAME": "x"},
		"ADMIN_ADDRESS": {"ADMIN_ADDRESS": "127.0.0.1:1"}, "METRICS_ADDRESS": {"METRICS_ADDRESS": "127.0.0.1:2"},
		"LOG_LEVEL": {"LOG_LEVEL": "debug"}, "LOG_FORMAT": {"LOG_FORMAT": "json"}, "DRY_RUN": {"DRY_RUN": "true"},
	}
}

func TestEveryVariableComesBackFromDocuments(t *testing.T) {
	t.Parallel()
	credentials := folderOf(t)
	all := changes(credentials)
	unchanged, err := config.Load(static.list())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range (config.Config{}).Describe() {
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
			available := credentials
			available.Files = nil
			for _, value := range change {
				if filepath.Dir(value) == credentials.Dir {
					available.Files = append(available.Files, filepath.Base(value))
				}
			}
			if change["IONOS_USERNAME"] == "" {
				available.Username = ""
			}
			before, after, text := back(t, static.with(change), available)
			want, got := settings(before), settings(after)
			if want[s.Variable] == settings(unchanged)[s.Variable] {
				t.Errorf("%s is not changed by %v", s.Variable, change)
			}
			if s.Variable == "SECURED_KUBECTL_CONTEXT" { // the kubeconfig says it
				if !strings.Contains(text, `# `+`  kubeconfig: make "blue" its current-context`) {
					t.Errorf("got\n%s", text)
				}
				delete(want, s.Variable)
				delete(got, s.Variable)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-variables +documents):\n%s\n%s", diff, text)
			}
			if strings.Contains(text, "geheim") {
				t.Errorf("a secret is repeated:\n%s", text)
			}
		})
	}
}

func TestWhatHasNoFieldIsInAComment(t *testing.T) {
	t.Parallel()
	_, _, text := back(t, static.with(env{
		"SOURCE_TIMEOUT": "5s", "HEALTH_CHECK_MODE": "tcp", "HEALTH_CHECK_PATH": "/x", "INVENTORY_FILE_PATH": "/y", "DRY_RUN": "true", "IONOS_TOKEN": "geheim",
	}), variables.Credentials{})
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

func TestWhatHasNoVariableIsRefused(t *testing.T) {
	t.Parallel()
	found := documents.Decode("f", []byte(`apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: a}
spec: {source: {static: {nodes: [{name: a, addresses: [10.0.0.1], zone: z}]}}, subnets: [10.0.0.0/24]}
---
apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointBinding
metadata: {name: web, namespace: shop}
spec: {pools: [{name: a}], ports: [{port: 80}], healthCheck: {mode: HTTP, path: /ready}}
`))
	if _, err := variables.Environ(found[0].Pool, found[1].Binding, variables.Credentials{}); err == nil || !strings.Contains(err.Error(), "node a has a zone") {
		t.Errorf("got %v", err)
	}
	found[0].Pool.Spec.Source.Static.Nodes[0].Zone = ""
	environ, err := variables.Environ(found[0].Pool, found[1].Binding, variables.Credentials{})
	if err != nil || !slices.Contains(environ, "HEALTH_CHECK_PATH=/ready") || !slices.Contains(environ, "TARGET_ENDPOINTSLICE_NAME=web.a") {
		t.Errorf("the check of the binding is not used: %v, %v", environ, err)
	}
	found[1].Binding.Spec.Ports[0].Protocol = "UDP"
	if _, err := variables.Environ(found[0].Pool, found[1].Binding, variables.Credentials{}); err == nil {
		t.Error("got no error for a port that is not TCP")
	}
}
