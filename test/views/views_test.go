package views_test

import (
	"context"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

func TestEndpointViewsOnARealAPIServer(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{})
	for name, test := range map[string]func(*testing.T, *controlplane.ControlPlane){
		"the walk-through with our annotation":     walkThroughOurs,
		"the walk-through with another annotation": walkThroughOther,
		"get and explain":                          getAndExplain,
		"metrics":                                  metrics,
		"a namespace and no more":                  oneNamespace,
		"xDS":                                      followedByXDS,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
	t.Run("an outage of the API server takes nothing away", func(t *testing.T) { outage(t, server) })
}

func walkThroughOurs(t *testing.T, server *controlplane.ControlPlane) {
	walkThrough(t, server, "ours", map[string]string{"endpoints.ablmnzde.github.io/views": "true"})
}

// walkThroughOther: any other annotation counts by being there.
func walkThroughOther(t *testing.T, server *controlplane.ControlPlane) {
	const annotation = "dcontroller.io/endpointslice-controller-enabled"
	walkThrough(t, server, "other", map[string]string{annotation: ""}, "VIEWS_ANNOTATION="+annotation)
}

// walkThrough is what Δ-controller's page of its EndpointSlice operator shows.
func walkThrough(t *testing.T, server *controlplane.ControlPlane, namespace string, annotations map[string]string, environ ...string) {
	c := client(t, server.Config())
	createNamespace(t, c, namespace)
	d := serve(t, server.Kubeconfig(t), environ...).ready(t)
	events := follow(t, d.url+"/api/v1/views?watch=true&ready=true&namespace="+namespace)

	createService(t, c, namespace, "web", annotations)
	create(t, c, namespace, slice("web-1", "web", "10.0.0.11", "10.0.0.12"))
	added := expect(t, events, views.Added, 4)
	slices.Sort(added)
	if want := []string{"web.http.10-0-0-11.8080", "web.http.10-0-0-12.8080", "web.https.10-0-0-11.8443", "web.https.10-0-0-12.8443"}; !slices.Equal(added, want) {
		t.Errorf("got %v, want %v", added, want)
	}

	update(t, c, namespace, slice("web-1", "web", "10.0.0.11", "10.0.0.12", "10.0.0.13"))
	expect(t, events, views.Added, 2)

	if err := c.CoreV1().Services(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, events, views.Deleted, 6)
}

// outage: the API server goes away and comes back, and the stream reports only what
// changed.
func outage(t *testing.T, server *controlplane.ControlPlane) {
	c := client(t, server.Config())
	createNamespace(t, c, "outage")
	createService(t, c, "outage", "web", map[string]string{"endpoints.ablmnzde.github.io/views": "true"})
	create(t, c, "outage", slice("web-1", "web", "10.0.0.11"))
	d := serve(t, server.Kubeconfig(t)).ready(t)
	events := follow(t, d.url+"/api/v1/views?watch=true&namespace=outage")
	expect(t, events, views.Added, 2)

	server.Stop()
	if code := status(t, d.health+"/readyz"); code != http.StatusOK {
		t.Errorf("got %d of /readyz without the API server, want 200: clients would lose their server", code)
	}
	server.Start()
	back := time.Now()
	update(t, c, "outage", slice("web-1", "web", "10.0.0.12"))
	// Two are new and two are gone, in any order; nothing else happened.
	got := map[views.EventType][]string{}
	for range 4 {
		e := <-events
		got[e.Type] = append(got[e.Type], e.Object.Spec.Address)
	}
	t.Logf("right again %s after the API server was ready", time.Since(back).Round(time.Millisecond))
	if !slices.Equal(got[views.Added], []string{"10.0.0.12", "10.0.0.12"}) || !slices.Equal(got[views.Deleted], []string{"10.0.0.11", "10.0.0.11"}) {
		t.Errorf("got %v", got)
	}
}

// oneNamespace: with VIEWS_NAMESPACES the program watches that one and needs rights
// there only; pkg/views goes on at another replica where one ends.
func oneNamespace(t *testing.T, server *controlplane.ControlPlane) {
	c := client(t, server.Config())
	for _, namespace := range []string{"mine", "theirs"} {
		createNamespace(t, c, namespace)
		createService(t, c, namespace, "web", map[string]string{"endpoints.ablmnzde.github.io/views": "true"})
		create(t, c, namespace, slice("web-1", "web", "10.0.0.11"))
	}
	first := serve(t, server.Kubeconfig(t), "VIEWS_NAMESPACES=mine").ready(t)
	second := serve(t, server.Kubeconfig(t), "VIEWS_NAMESPACES=mine").ready(t)
	ctx, cancel := context.WithCancel(t.Context())
	follower, err := views.New(views.Options{Servers: []string{first.url, second.url}, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan views.Event, 100)
	var watching sync.WaitGroup
	watching.Go(func() {
		_ = follower.Watch(ctx, func(e views.Event) error { told <- e; return nil })
	})
	defer watching.Wait()
	defer cancel()
	var got []string
	for e := range told {
		if e.Type == views.Synced {
			break
		}
		got = append(got, e.View.Metadata.Namespace+"/"+e.View.Metadata.Name)
	}
	slices.Sort(got)
	if want := []string{"mine/web.http.10-0-0-11.8080", "mine/web.https.10-0-0-11.8443"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	// Whichever of the two it follows: it goes on at the other one without a word.
	if err := first.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	update(t, c, "mine", slice("web-1", "web", "10.0.0.12"))
	kinds := map[views.EventType]int{}
	for range 4 {
		e := <-told
		kinds[e.Type]++
	}
	if kinds[views.Added] != 2 || kinds[views.Deleted] != 2 {
		t.Errorf("got %v, want 2 added and 2 deleted", kinds)
	}
}

func getAndExplain(t *testing.T, server *controlplane.ControlPlane) {
	c := client(t, server.Config())
	createNamespace(t, c, "people")
	createService(t, c, "people", "web", map[string]string{"endpoints.ablmnzde.github.io/views": "true"})
	createService(t, c, "people", "plain", nil)
	create(t, c, "people", slice("web-1", "web", "10.0.0.11"))
	create(t, c, "people", slice("plain-1", "plain", "10.0.0.11"))
	kubeconfig := server.Kubeconfig(t)
	d := serve(t, kubeconfig).ready(t)
	for _, args := range [][]string{{"get", "-n", "people"}, {"get", "-n", "people", "--server", d.url}, {"get", "-A", "-o", "wide"}} {
		out := run(t, kubeconfig, args...)
		for _, want := range []string{"SERVICE", "http:80/TCP", "10.0.0.11", "8443", "ready"} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: got\n%s\nwant %q in it", args, out, want)
			}
		}
	}
	if got, want := run(t, kubeconfig, "get", "-n", "people", "-o", "name"), "endpointview/web.http.10-0-0-11.8080\nendpointview/web.https.10-0-0-11.8443\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := run(t, kubeconfig, "get", "-n", "people", "--gather"); !strings.Contains(got, "1/1") || !strings.Contains(got, "10.0.0.11:8443") {
		t.Errorf("got\n%s", got)
	}
	if got := run(t, kubeconfig, "check"); strings.Count(got, "ok    ") != 3 {
		t.Errorf("got\n%s", got)
	}
	explained := run(t, kubeconfig, "explain", "10.0.0.11", "-n", "people")
	for _, want := range []string{"people/web-1: 10.0.0.11 is ready", "people/plain-1: Service plain does not have the annotation"} {
		if !strings.Contains(explained, want) {
			t.Errorf("got\n%s\nwant %q in it", explained, want)
		}
	}
}

// metrics says what there is, and names no Service.
func metrics(t *testing.T, server *controlplane.ControlPlane) {
	d := serve(t, server.Kubeconfig(t)).ready(t)
	body := read(t, d.health+"/metrics")
	for _, want := range []string{
		"endpoint_views_synced 1", "endpoint_views_stale_seconds 0", `endpoint_views_api_requests_total{code="200",verb="watch"}`, `endpoint_views_endpoints{state="ready"}`,
		"endpoint_views_watch_age_seconds ", "endpoint_views_endpoint_changes_total ", "endpoint_views_streams_timed_out_total 0", "endpoint_views_unconfirmed_objects 0", "endpoint_views_streams 0",
		`endpoint_views_stream_events_total{type="DELETED"} 0`, "endpoint_views_identities_current 1", "go_goroutines",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

// run carries out one command and returns what it prints.
func run(t *testing.T, kubeconfig string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), built.Views(t), args...)
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}
