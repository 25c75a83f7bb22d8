package cli_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// tokenCanary is a token that no chance text repeats a part of.
const tokenCanary = "c4n4ry-Tq9Zx7Lw2Vb8Nm3Kj6Hg5Fd1Sa0"

// Ids of the fake IONOS Cloud.
const (
	datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
	clusterID  = "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11"
)

// cloud is a fake IONOS Cloud, and the environment of a daemon that asks it.
func cloud(t *testing.T, servers int) (*ionostest.API, []string) {
	t.Helper()
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: clusterID, LAN: 2})
	api.Populate(servers)
	api.Accept("Bearer " + tokenCanary)
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		api.Heal()
		server.CloseClientConnections()
		server.Close()
	})
	return api, []string{
		"SOURCE_KIND=ionos", "IONOS_API_URL=" + server.URL, "IONOS_TOKEN=" + tokenCanary, "IONOS_DATACENTER_ID=" + datacenter,
		"IONOS_CLUSTER_ID=" + clusterID, "IONOS_PRIVATE_LAN_ID=2", "SECURED_SUBNET_CIDR=10.0.0.0/16", "TARGET_SERVICE_NAME=web",
		"TARGET_PORT=8080", "HEALTH_CHECK_MODE=off", "LOG_LEVEL=debug", "SOURCE_POLL_INTERVAL=100ms", "SOURCE_TIMEOUT=3s",
		"ADMIN_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0",
	}
}

func TestTheSourceIONOSPublishesTheAddressesOfTheLAN(t *testing.T) {
	t.Parallel()
	_, environ := cloud(t, 3)
	code, stdout, stderr := run(t, environ, "run", "--once")
	if code != 0 || strings.Count(stdout, "- addresses:") != 3 || !strings.Contains(stdout, "10.0.0.2") {
		t.Errorf("got exit status %d, want 0 and three addresses; stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
	}
}

// With the cluster's id alone the selector was ignored: all nodes were published.
func TestTheSelectorHoldsForTheNodesOfAManagedCluster(t *testing.T) {
	t.Parallel()
	api, environ := cloud(t, 3)
	api.SetPools(ionostest.Pool{Name: "pool-1", Labels: map[string]string{"pool": "web"}})
	for selector, published := range map[string]int{"pool=web": 3, "pool=none": 0} {
		chosen := append([]string{"SECURED_NODE_SELECTOR=" + selector}, environ...)
		_, stdout, stderr := run(t, chosen, "run", "--once")
		if got := strings.Count(stdout, "- addresses:"); got != published {
			t.Errorf("%s: got %d addresses, want %d; stdout:\n%s\nstderr:\n%s", selector, got, published, stdout, stderr)
		}
		code, stdout, _ := run(t, chosen, "check")
		if good := code == 0; good != (published > 0) || !good && !strings.Contains(stdout, "do not match SECURED_NODE_SELECTOR=pool=none") {
			t.Errorf("%s: check ended with exit status %d:\n%s", selector, code, stdout)
		}
	}
	code, _, stderr := run(t, append([]string{"SECURED_NODE_SELECTOR=kubernetes.io/arch=amd64"}, environ...), "run", "--once")
	if code != 2 || !strings.Contains(stderr, "selects by the label kubernetes.io/arch, which the IONOS API does not report") {
		t.Errorf("got exit status %d, want 2 and the label; stderr:\n%s", code, stderr)
	}
}

// Contract 1, 2, 3 and 35: a fault of the API never costs the running daemon an
// endpoint. Each trouble is named once and ends by itself, and the token is printed
// nowhere.
func TestContract01To03And35NothingThatTheAPIDoesRemovesAnEndpoint(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	api, environ := cloud(t, 4)
	var out, errs buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		p := cli.Program{Version: "v1.2.3", Environ: environ, Stdout: &out, Stderr: &errs}
		ended <- p.Run(ctx, []string{"run"})
	}()
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !ok(); <-time.After(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: not within half a minute; log:\n%s", what, errs.String())
			}
		}
	}
	until("the first slice", func() bool { return strings.Count(out.String(), "- addresses:") == 4 })
	published := out.String()
	warnings := func() int { return strings.Count(errs.String(), `"level":"WARN","msg":"source read failed`) }
	for _, kind := range ionostest.Kinds() {
		before := warnings()
		asked := api.Counts().Requests
		api.Break(ionostest.Fault{Kind: kind})
		named := 1
		switch kind {
		case ionostest.SecondPage, ionostest.UnknownType, ionostest.IPsNull, ionostest.IPsEmpty, ionostest.IPsHoled,
			ionostest.NICsNull, ionostest.NICsEmpty, ionostest.Shuffled, ionostest.NoHref, ionostest.NoLinks:
			named = 0 // a complete answer, to this daemon
		}
		until(kind, func() bool { return warnings() >= before+named && (named > 0 || api.Counts().Requests > asked+4) })
		api.Heal()
		asked = api.Counts().ByPath["/datacenters/"+datacenter+"/lans/2/nics"]
		until(kind+" is over", func() bool { return api.Counts().ByPath["/datacenters/"+datacenter+"/lans/2/nics"] > asked+2 })
		// An answer that is sometimes cut by the time-out is a second trouble.
		if got := warnings() - before; got < named || got > 2*named {
			t.Errorf("%s: got %d warnings, want %d", kind, got, named)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
	if out.String() != published {
		t.Errorf("the slices changed; got\n%s\nwant\n%s", out.String(), published)
	}
	_, shown, _ := run(t, environ, "config", "show")
	if text := fmt.Sprint(out.String(), errs.String(), shown); strings.Contains(text, tokenCanary[:8]) {
		t.Error("the token shows up in the slices, the log or config show")
	}
}
