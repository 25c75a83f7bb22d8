//go:build lab

package proxies_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// pod runs the proxy from the bootstrap that the operator gives the Pods of an Envoy, and
// serves what the Envoy says. The Secret with the certificate for the control plane is left
// out of it: the server has no certificates here.
func (w *world) pod(e *v1alpha1.Envoy, server string) {
	w.t.Helper()
	traffic, err := envoyconfig.FromObject(e)
	must(w.t, err)
	fleets := xds.NewFleets()
	fleets.Replace(map[string]xds.Object{e.Namespace + "/" + e.Name: {Traffic: traffic}})
	at := w.listen(fleets, server)
	made, err := manifests.Of(e, manifests.Settings{Host: at.Addr().String(), Port: at.Port(), EnvoyImage: "envoy", DrainImage: "views"}, nil)
	must(w.t, err)
	var bootstrap map[string]any
	must(w.t, yaml.Unmarshal([]byte(made.ConfigMap.Data[envoyconfig.BootstrapFile]), &bootstrap))
	bootstrap["node"].(map[string]any)["id"] = "edge-1"
	for _, one := range bootstrap["static_resources"].(map[string]any)["clusters"].([]any) {
		delete(one.(map[string]any), "transport_socket")
	}
	text, err := yaml.Marshal(bootstrap)
	must(w.t, err)
	w.run(string(text))
	w.wantAllAcknowledged()
}

// simple is an Envoy that leads to the Service web.
func simple() *v1alpha1.Envoy {
	return &v1alpha1.Envoy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge"},
		Spec: v1alpha1.EnvoySpec{
			Name: "edge", ConfigMapName: "edge", MaxConnections: ptr.To(int32(mostConnections)), AccessLog: v1alpha1.AccessLogAll,
			Listeners: []v1alpha1.Listener{{Name: "http", Port: 80, Service: "web"}, {Name: "raw", Port: 5432, Protocol: v1alpha1.ListenerTCP, Service: "web"}},
		},
	}
}

// status asks for a path of an address, 0 where nothing answers.
func status(t *testing.T, address, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	must(t, err)
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(text)
}

func TestContract110APodServesItsClientsAndItsProbesByEitherFamily(t *testing.T) {
	w := newWorld(t)
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "[::1]:0")
	must(t, err)
	w.service("shop", "web", "", nil, backendOn(t, "web", listener, nil))
	w.pod(simple(), "[::1]:0") // the control plane, the endpoint and the client have IPv6 only
	for _, address := range []string{"[::1]", "127.0.0.1"} {
		for _, port := range []string{"8080", "5432"} {
			if code, text := status(t, address+":"+port, "/"); code != http.StatusOK {
				t.Errorf("%s:%s: got %d %s", address, port, code, text)
			}
		}
		if code, text := status(t, address+":9902", "/ready"); code != http.StatusOK {
			t.Errorf("%s: readiness: got %d %s", address, code, text)
		}
		if code, text := status(t, address+":9902", "/stats/prometheus"); code != http.StatusOK {
			t.Errorf("%s: metrics: got %d %s", address, code, text)
		}
	}
	// The pages that change an Envoy are for its own Pod only.
	if code, _ := status(t, "[::1]:9901", "/ready"); code != 0 {
		t.Errorf("the admin listener answers at ::1 with %d", code)
	}
	w.envoy.Stop()
	// The address of a client of IPv4 is no mapped one of IPv6.
	log := strings.Join(w.envoy.AccessLog(), "\n")
	for _, client := range []string{`"client":"[::1]:`, `"client":"127.0.0.1:`} {
		if !strings.Contains(log, client) {
			t.Errorf("no line of the access log has %s:\n%s", client, log)
		}
	}
}

func TestContract110APodOfIPv4ListensOnIPv4(t *testing.T) {
	w := newWorld(t)
	w.service("shop", "web", "", nil, backend(t, "web", nil))
	e := simple()
	e.Spec.IPFamily = v1alpha1.IPv4
	w.pod(e, "127.0.0.1:0")
	for address, want := range map[string]int{"127.0.0.1:8080": http.StatusOK, "127.0.0.1:9902": http.StatusOK, "[::1]:8080": 0, "[::1]:9902": 0} {
		if code, text := status(t, address, "/ready"); code != want {
			t.Errorf("%s: got %d %s, want %d", address, code, text, want)
		}
	}
}

func TestContract112AnEnvoyWithoutMemoryRefusesRequestsAndStaysReady(t *testing.T) {
	w := newWorld(t)
	w.service("shop", "web", "", nil, backend(t, "web", nil))
	e := simple()
	e.Spec.PodTemplate.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}}
	w.pod(e, "127.0.0.1:0")
	w.until("requests are refused", func() bool {
		code, text := status(t, "127.0.0.1:8080", "/")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "overload")
	})
	for _, path := range []string{"/ready", "/stats/prometheus"} {
		if code, text := status(t, "127.0.0.1:9902", path); code != http.StatusOK {
			t.Errorf("%s: got %d %s of an Envoy that refuses requests", path, code, text)
		}
	}
}

// lines are those of the access log after a request that was answered and one that was lost.
func lines(t *testing.T, which v1alpha1.AccessLog) []string {
	t.Helper()
	w := newWorld(t)
	w.service("shop", "web", "", nil, backend(t, "web", nil))
	dead := listen(t)
	w.service("shop", "dead", "", nil, netip.MustParseAddrPort(dead.Addr().String()))
	must(t, dead.Close())
	e := simple()
	e.Spec.AccessLog = which
	e.Spec.Listeners = append(e.Spec.Listeners, v1alpha1.Listener{Name: "dead", Port: 8081, Service: "dead"})
	w.pod(e, "127.0.0.1:0")
	for address, want := range map[string]int{"127.0.0.1:8080": http.StatusOK, "127.0.0.1:8081": http.StatusServiceUnavailable} {
		if code, text := status(t, address, "/cart?token=secret"); code != want {
			t.Fatalf("%s: got %d %s", address, code, text)
		}
	}
	w.envoy.Stop()
	return w.envoy.AccessLog()
}

func TestContract112TheAccessLogHasTheLinesThatAreWanted(t *testing.T) {
	for which, want := range map[v1alpha1.AccessLog][]string{
		v1alpha1.AccessLogFailures: {"dead/shop/80 503 URX"}, v1alpha1.AccessLogAll: {"dead/shop/80 503 URX", "web/shop/80 200 -"}, v1alpha1.AccessLogNone: nil,
	} {
		var got []string
		for _, line := range lines(t, which) {
			var entry struct {
				Cluster, Flags, Path string
				Code                 int
			}
			must(t, json.Unmarshal([]byte(line), &entry))
			if entry.Path != "/cart" || strings.Contains(line, "secret") {
				t.Errorf("%s: got %s, want the path without its query", which, line)
			}
			flag, _, _ := strings.Cut(entry.Flags, ",")
			got = append(got, fmt.Sprintf("%s %d %s", entry.Cluster, entry.Code, flag))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", which, got, want)
		}
	}
}

func TestContract112TimesOfARouteEndItsRequestsAndNoOthers(t *testing.T) {
	w := newWorld(t)
	// The endpoint begins an answer and does not end it before the client goes.
	listener := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/request") {
			_, _ = io.WriteString(w, "begun")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	w.service("shop", "web", "", nil, netip.MustParseAddrPort(listener.Addr().String()))
	e := simple()
	short := &metav1.Duration{Duration: 300 * time.Millisecond}
	e.Spec.Listeners = []v1alpha1.Listener{{Name: "http", Port: 80, Routes: []v1alpha1.Route{
		{PathPrefix: "/request", Service: "web", RequestTimeout: short}, {PathPrefix: "/stream", Service: "web", IdleTimeout: short}, {PathPrefix: "/", Service: "web"},
	}}}
	w.pod(e, "127.0.0.1:0")

	// It has begun before the others, and goes on when they have ended.
	open := begin(t, "/other")
	defer open.Body.Close()
	if code, text := status(t, "127.0.0.1:8080", "/request"); code != http.StatusGatewayTimeout {
		t.Errorf("got %d %s, want 504 after requestTimeout", code, text)
	}
	idle := begin(t, "/stream")
	switch _, err := io.ReadAll(idle.Body); {
	case err == nil:
		t.Error("a stream in which nothing is sent ends as if it were complete")
	case errors.Is(err, context.DeadlineExceeded):
		t.Errorf("a stream in which nothing is sent goes on after %v", waitLimit)
	}
	_ = idle.Body.Close()
	if got := w.envoy.Stat("http.port-8080.downstream_rq_active"); got != 1 {
		t.Errorf("got %d requests that go on, want the one without a time", got)
	}
}

// begin sends a request and returns when the answer has begun. It ends after the wait limit.
func begin(t *testing.T, path string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8080"+path, nil)
	must(t, err)
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	must(t, err)
	first := make([]byte, len("begun"))
	_, err = io.ReadFull(response.Body, first)
	must(t, err)
	return response
}
