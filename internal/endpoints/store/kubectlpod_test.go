package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
)

// TestInAPodNothingKeepsKubectlFromTheServiceAccount: kubectl takes a time-out for
// a configuration, and then asks localhost instead of the cluster it runs in. That
// it finds the ServiceAccount is shown where the chart is installed.
func TestInAPodNothingKeepsKubectlFromTheServiceAccount(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		want bool
	}{
		"outside":                 {nil, true},
		"in a Pod":                {[]string{"KUBERNETES_SERVICE_HOST=10.96.0.1"}, false},
		"with a blank kubeconfig": {[]string{"KUBERNETES_SERVICE_HOST=10.96.0.1", "KUBECONFIG="}, false},
		"with a kubeconfig":       {[]string{"KUBERNETES_SERVICE_HOST=10.96.0.1", "KUBECONFIG=/a"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := newKubectl(t, storetest.Target("default"),
				program(t, `printf '%s\n' "$@" >"$DIR/args"; cat`), environ(append(c.env, "DIR="+dir)...))
			if _, err := store.Write(t.Context(), create()); err != nil {
				t.Fatal(err)
			}
			args, err := os.ReadFile(filepath.Join(dir, "args"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(args), "--request-timeout="); got != c.want {
				t.Errorf("got a time-out: %t, want %t, in\n%s", got, c.want, args)
			}
		})
	}
}
