package cli_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

// The log warns of the credentials of each pool by its name, and of KUBECONFIG.
func TestTheLogWarnsOfTheCredentialsOfAPool(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.service("shop", "web", 30080, nil)
	token, expires := tokenOf(30*day, 2*day)
	environ := replacedIn(c.environ(t, poolAndBinding), "ADMIN_ADDRESS=127.0.0.1:0")
	environ = replacedIn(append(environ, "METRICS_ADDRESS=127.0.0.1:0"), kubeconfig(t, c.server.URL, token))
	_, dir, _ := strings.Cut(environ[1], "=")
	remote := strings.Replace(remoteKubeconfig, "https://127.0.0.1:1", apiServer(t, http.StatusForbidden, "Forbidden"), 1)
	writeFile(t, dir+"/blue/kubeconfig", strings.Replace(remote, "opaque", token, 1))

	var out, errs buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		p := cli.Program{Version: "v1.2.3", Environ: environ, Stdout: &out, Stderr: &errs}
		ended <- p.Run(ctx, []string{"run"})
	}()
	wanted := []string{`"pool":"blue","setting":"spec.credentials=blue","expires":"` + expires.UTC().Format(time.RFC3339), `"setting":"KUBECONFIG","expires":"`}
	for deadline := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
		if log := errs.String(); strings.Contains(log, wanted[0]) && strings.Contains(log, wanted[1]) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got no %q within half a minute; log:\n%s", wanted, errs.String())
		}
	}
	stop()
	if code := <-ended; code != 0 || strings.Contains(errs.String(), tokenCanary[:8]) {
		t.Errorf("got exit status %d and log\n%s", code, errs.String())
	}
}
