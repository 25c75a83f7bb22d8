package kube_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// canary is a secret that must be shown nowhere.
const canary = "c4n4ry-s3cr3t"

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig is a file with one cluster and one user, written as YAML flow.
func kubeconfig(t *testing.T, cluster, user string) string {
	t.Helper()
	return write(t, "kubeconfig", "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],\n"+
		"clusters: [{name: c, cluster: {"+cluster+"}}], users: [{name: u, user: {"+user+"}}]}\n")
}

func access(path string) kube.Access {
	return kube.Access{Kubeconfig: path, Setting: "KUBECONFIG", ContextSetting: "CONTEXT"}
}

func TestContract35NoErrorOfAKubeconfigQuotesIt(t *testing.T) {
	const server = "server: 'https://127.0.0.1:1'"
	for name, c := range map[string]struct{ cluster, user, want string }{
		"a password of a proxy with a slash": {server + ", proxy-url: 'http://admin:" + canary + "/x@proxy:3128'", "", "proxy-url"},
		"a proxy of another scheme":          {server + ", proxy-url: 'ftp://admin:" + canary + "@proxy'", "", "proxy-url"},
		"a token of a proxy with a slash":    {server + ", proxy-url: 'http://" + canary + "/x@proxy:3128'", "", "proxy-url"},
		"a proxy without a host":             {server + ", proxy-url: 'http:admin:" + canary + "@proxy'", "", "proxy-url"},
		"a server that is no URL":            {"server: 'https://admin:" + canary + "@127.0.0.1:1/%zz'", "", "its server is no valid URL"},
		"a server without a host":            {"server: 'https:/" + canary + "'", "", "its server is no valid URL"},
		"no server":                          {"insecure-skip-tls-verify: true", "token: " + canary, "has no server"},
		"an authority that is none":          {server + ", certificate-authority-data: " + canary, "", "cannot be parsed"},
		"a certificate that is none":         {server, "client-certificate-data: " + canary + ", client-key-data: " + canary, "cannot be parsed"},
		"a certificate without PEM":          {server, "client-certificate-data: YzRuNHJ5, client-key-data: YzRuNHJ5", "kubectl"},
		"a token and a password":             {server, "token: " + canary + ", username: " + canary + ", password: " + canary, ""},
		"a missing token file":               {server, "tokenFile: /nowhere/token", "/nowhere/token"},
		"a plugin without a version":         {server, "exec: {command: plugin, args: [" + canary + "], env: [{name: A, value: " + canary + "}]}", "neither client.authentication.k8s.io/v1 nor"},
		"a plugin of an unknown provider":    {server, "auth-provider: {name: " + canary + ", config: {token: " + canary + "}}", "kubectl"},
		"another type":                       {server, "token: [" + canary + "]", "cannot be parsed"},
	} {
		t.Run(name, func(t *testing.T) {
			way := access(kubeconfig(t, c.cluster, c.user))
			client, err := kube.New(kube.Options{Way: way})
			if err == nil {
				err = client.Refresh()
			}
			if c.want == "" && err == nil {
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error that says %q", err, c.want)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the secret is in %v", err)
			}
			if _, _, err := way.Snapshot(); err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("the secret is in %v", err)
			}
		})
	}
}

// A part of the proxy's password would be its host, which errors about connections name.
func TestContract35NoErrorShowsTheProxyOfTheEnvironment(t *testing.T) {
	if !again(t, func(child *exec.Cmd) {
		child.Env = append(child.Env, "HTTPS_PROXY=http://"+canary+"/x@proxy:3128", "NO_PROXY=")
	}) {
		return
	}
	const server = "https://192.0.2.1"
	for name, way := range map[string]kube.Way{
		"files": access(kubeconfig(t, "server: '"+server+"'", "")), "fixed": kube.Fixed(&rest.Config{Host: server}),
	} {
		err := get(t, newClient(t, way, time.Minute))
		if err == nil || !strings.Contains(err.Error(), "HTTPS_PROXY") || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v, want an error that names HTTPS_PROXY and not its value", name, err)
		}
	}
}

// again runs the test a second time, in a process of its own that is changed so, and
// reports whether this is that one.
func again(t *testing.T, change func(child *exec.Cmd)) bool {
	t.Helper()
	const variable = "TEST_KUBEAPI_CHILD"
	if os.Getenv(variable) != "" {
		return true
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), variable+"=true")
	change(child)
	if out, err := child.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("in a process of its own: %v\n%s", err, out)
	}
	return false
}

func TestOfSeveralKubeconfigsThoseThatAreMissingArePassedOver(t *testing.T) {
	path := kubeconfig(t, "server: 'https://127.0.0.1:1'", "token: "+canary)
	missing := filepath.Join(t.TempDir(), "missing")
	config, changed, err := access(missing + string(filepath.ListSeparator) + path).Snapshot()
	if err != nil || config.BearerToken != canary {
		t.Fatalf("got %v", err)
	}
	if changed() {
		t.Error("got a change although nothing changed")
	}
	if err := os.WriteFile(missing, []byte("current-context: c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !changed() {
		t.Error("got no change although the missing file is there now")
	}
	if _, err := access(filepath.Join(t.TempDir(), "none")).Config(); err == nil || !strings.Contains(err.Error(), "create it, or correct KUBECONFIG") {
		t.Errorf("got %v, want the remedy", err)
	}
}

func TestASnapshotHoldsWhatTheFilesHoldAndSeesTheirChange(t *testing.T) {
	token := write(t, "token", "first\n")
	way := access(kubeconfig(t, "server: 'https://127.0.0.1:1'", "tokenFile: "+token))
	config, changed, err := way.Snapshot()
	if err != nil || config.BearerToken != "first" || config.BearerTokenFile != "" || changed() {
		t.Fatalf("got token %q, file %q, %v", config.BearerToken, config.BearerTokenFile, err)
	}
	if err := os.WriteFile(token, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !changed() {
		t.Error("got no change of a token that was replaced")
	}
	if err := os.WriteFile(token, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := way.Snapshot(); err == nil || !strings.Contains(err.Error(), "token is empty") {
		t.Errorf("got %v, want that the token is empty", err)
	}
}

func TestAContextThatIsMissingNamesItsSetting(t *testing.T) {
	way := access(kubeconfig(t, "server: 'https://127.0.0.1:1'", ""))
	way.Context = "blue"
	if _, err := way.Config(); err == nil || !strings.Contains(err.Error(), `context "blue"`) || !strings.Contains(err.Error(), "correct CONTEXT") {
		t.Errorf("got %v, want the context and its setting", err)
	}
}

// TestContract81AnAccessWithoutProgramsHasNone, whichever way a kubeconfig names one, and
// also where it names one later.
func TestContract81AnAccessWithoutProgramsHasNone(t *testing.T) {
	const (
		server = "server: 'https://127.0.0.1:1'"
		token  = "token: opaque"
		plugin = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: plugin, args: [" + canary + "]}"
	)
	several := func(paths ...string) string { return strings.Join(paths, string(filepath.ListSeparator)) }
	for name, c := range map[string]struct {
		path string
		runs bool
	}{
		"a token":                     {kubeconfig(t, server, token), false},
		"a plugin of another user":    {kubeconfig(t, server, token+"}}, {name: other, user: {"+plugin), false},
		"a plugin":                    {kubeconfig(t, server, plugin), true},
		"a plugin beside a token":     {kubeconfig(t, server, token+", "+plugin), true},
		"a plugin of the second file": {several(write(t, "first", "{preferences: {}}"), kubeconfig(t, server, plugin)), true},
		"a provider with a program":   {kubeconfig(t, server, "auth-provider: {name: gcp, config: {cmd-path: plugin, cmd-args: "+canary+"}}"), true},
	} {
		way := access(c.path)
		if _, err := way.Config(); err != nil {
			t.Errorf("%s: got %v, want that it can be read where programs are allowed", name, err)
		}
		way.NoPrograms = true
		client, err := kube.Open(kube.Options{Way: way})
		if err == nil {
			client.Close()
		}
		if errors.Is(err, kube.ErrProgram) != c.runs || err != nil != c.runs {
			t.Errorf("%s: got %v, want that it is refused: %t", name, err, c.runs)
		}
		if c.runs && (!strings.Contains(err.Error(), "KUBECONFIG="+c.path) || strings.Contains(err.Error(), canary)) {
			t.Errorf("%s: got %v, want the setting and nothing of the file", name, err)
		}
	}

	way := access(kubeconfig(t, server, token))
	way.NoPrograms = true
	client, err := kube.Open(kube.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	text, err := os.ReadFile(kubeconfig(t, server, plugin))
	if err == nil {
		err = os.WriteFile(way.Kubeconfig, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Refresh(); !errors.Is(err, kube.ErrProgram) {
		t.Errorf("got %v of a kubeconfig that runs a program by now, want that it is refused", err)
	}
}
