package cli_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

func TestAnAnswerOfAnotherProgramIsRejected(t *testing.T) {
	t.Parallel()
	encode := func(w http.ResponseWriter, change func(*report.Document)) {
		_ = json.NewEncoder(w).Encode(document(change))
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"another Service": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "this is the daemon of default/api, not of default/web", http.StatusNotFound)
		}, "this is the daemon of default/api, not of default/web"},
		"another version": {func(w http.ResponseWriter, _ *http.Request) {
			encode(w, func(d *report.Document) { d.APIVersion = "v2" })
		}, `apiVersion "v2", want "v1"`},
		"no JSON":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, "not from a daemon of this version"},
		"an error":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }, "503"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "302"},
		"no end": {func(w http.ResponseWriter, _ *http.Request) {
			junk := make([]byte, 1<<20)
			for {
				if _, err := w.Write(junk); err != nil {
					return
				}
			}
		}, "longer than 16 MiB"},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ := answering(t, test.handler)
			// The base has a node that is outside, so what is computed is not healthy.
			code, stdout, stderr := run(t, environ, "status")
			if code != 1 || !strings.Contains(stdout, "OutsideSubnet") || !strings.Contains(stderr, test.says) || !strings.Contains(stderr, "evaluating locally") {
				t.Errorf("got status %d, want 1, a computed view and %q:\n%s%s", code, test.says, stdout, stderr)
			}
		})
	}
}

// What answers at ADMIN_ADDRESS may be any program.
func TestContract189AnErrorHasNoCharacterThatATerminalHides(t *testing.T) {
	t.Parallel()
	environ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no\x1b[2J web\u202e\nat all", http.StatusNotFound)
	})
	environ = slices.DeleteFunc(environ, func(s string) bool { return !strings.HasPrefix(s, "ADMIN_ADDRESS=") })
	code, stdout, stderr := run(t, append(environ, "DOCUMENTS_DIR="+t.TempDir()), "status", "-n", "default", "web")
	if code != 1 || stdout != "" || stderr != "Error: no [2J web \nat all\n" {
		t.Errorf("got status %d, %q and %q", code, stdout, stderr)
	}
}

func TestWithoutADaemonTheCommandsLookThemselvesAndSaySo(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.77.0.1:0") // other tests get its port on 127.0.0.1
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	silent := listener.Addr().String()
	listener.Close()
	good := replacedIn(base, "STATIC_NODES=w1=127.0.0.11,w2=127.0.0.12")
	for name, test := range map[string]struct {
		environ []string
		args    []string
		code    int
		stdout  string
		stderr  string
	}{
		"status":           {replacedIn(good, "ADMIN_ADDRESS="+silent), []string{"status"}, 0, "2 of 2 nodes ready", "No answer from the daemon: http://" + silent + "/api/v1/services/default/web: nothing listens there; evaluating locally instead.\n"},
		"explain":          {replacedIn(good, "ADMIN_ADDRESS="+silent), []string{"explain", "w1"}, 0, "w1 is published ready", "nothing listens there"},
		"port 0":           {good, []string{"status"}, 0, "2 of 2 nodes ready", "port 0"},
		"asking for it":    {replacedIn(good, daemon(t, unhealthy)[0]), []string{"status", "--compute"}, 0, "2 of 2 nodes ready", ""},
		"waiting for it":   {replacedIn(good, daemon(t, unhealthy)[0]), []string{"status", "--compute", "--wait"}, 0, "2 of 2 nodes ready", ""},
		"a broken source":  {append([]string{"SOURCE_KIND=file", "INVENTORY_FILE_PATH=/nonexistent"}, base[1:]...), []string{"status"}, 3, "", "nonexistent"},
		"a broken store":   {append([]string{"STORE_KIND=kubectl", "KUBECTL_PATH=/bin/false"}, base...), []string{"status"}, 4, "", "store"},
		"no configuration": {nil, []string{"status"}, 2, "", "TARGET_SERVICE_NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t, test.environ, test.args...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) || test.stderr == "" && strings.Contains(stderr, "evaluating locally") {
				t.Errorf("got status %d, want %d, %q and %q:\n%s%s", code, test.code, test.stdout, test.stderr, stdout, stderr)
			}
		})
	}
}

// replacedIn is a configuration with another value of one variable.
func replacedIn(environ []string, setting string) []string {
	name, _, _ := strings.Cut(setting, "=")
	changed := slices.DeleteFunc(slices.Clone(environ), func(s string) bool { return strings.HasPrefix(s, name+"=") })
	return append(changed, setting)
}

func TestADaemonThatListensEverywhereIsAskedOnTheMachineItself(t *testing.T) {
	t.Parallel()
	for listening, asked := range map[string]string{"0.0.0.0": "127.0.0.1", "::": "::1"} {
		t.Run(listening, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", net.JoinHostPort(asked, "0"))
			if err != nil {
				t.Skipf("no %s here: %v", asked, err)
			}
			server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(document(unchanged))
			})}
			done := make(chan struct{})
			go func() { defer close(done); _ = server.Serve(listener) }()
			defer func() { server.Close(); <-done }()
			port := netip.MustParseAddrPort(listener.Addr().String()).Port()
			environ := replacedIn(base, fmt.Sprintf("ADMIN_ADDRESS=%s", netip.AddrPortFrom(netip.MustParseAddr(listening), port)))
			if code, stdout, stderr := run(t, environ, "status"); code != 0 || !strings.Contains(stdout, "a-worker") {
				t.Errorf("got status %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}
