package watch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// envoyAPI is an API server with Envoys, by NAMESPACE/NAME, or by NAME in namespace shop.
type envoyAPI struct {
	mu       sync.Mutex
	revision int
	// refused is the code with which everything is refused, 0 for none, or what is of the
	// namespace refusedIn.
	refused   int
	refusedIn string

	envoys   map[string]v1alpha1.EnvoySpec
	watch    *io.PipeWriter
	requests int
	// listed, if set, is called when a list was read.
	listed func()
}

// tells calls a function at the end of what is read.
type tells struct {
	*bytes.Reader

	end func()
}

func (r tells) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	if r.Len() == 0 && n > 0 {
		r.end()
	}
	return n, err
}

func (a *envoyAPI) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revision++
	change()
}

// expire ends the watch because its revision is too old: everything is listed again.
func (a *envoyAPI) expire() {
	a.mu.Lock()
	watch := a.watch
	a.watch = nil
	a.mu.Unlock()
	if watch != nil {
		_, _ = io.WriteString(watch, `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410}}`+"\n")
		_ = watch.Close()
	}
}

// tell sends an event of an object.
func (a *envoyAPI) tell(kind, name string) {
	a.mu.Lock()
	watch := a.watch
	text, _ := json.Marshal(map[string]any{"type": kind, "object": a.envoy(name)})
	a.mu.Unlock()
	_, _ = watch.Write(append(text, '\n'))
}

func (a *envoyAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	query := r.URL.Query()
	var namespace string // that is asked for, empty for all
	switch strings.TrimPrefix(r.URL.Path, "/apis/fleet.ablmnzde.github.io/v1alpha1/") {
	case "envoys":
	case "namespaces/shop/envoys":
		namespace = "shop"
	case "namespaces/blog/envoys":
		namespace = "blog"
	default:
		return reply(r, http.StatusTeapot, nil), nil
	}
	switch {
	case a.refused != 0 && (a.refusedIn == "" || a.refusedIn == namespace):
		return reply(r, a.refused, nil), nil
	case query.Has("sendInitialEvents"):
		return reply(r, http.StatusUnprocessableEntity, nil), nil
	case query.Has("watch"):
		body, end := io.Pipe()
		a.watch = end
		context.AfterFunc(r.Context(), func() { _ = end.Close() })
		response := reply(r, http.StatusOK, nil)
		response.Body = body
		return response, nil
	}
	list := &v1alpha1.EnvoyList{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "EnvoyList"}, ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.revision)},
	}
	for name := range a.envoys {
		if one := a.envoy(name); namespace == "" || namespace == one.Namespace {
			list.Items = append(list.Items, *one)
		}
	}
	response := reply(r, http.StatusOK, list)
	if a.listed != nil {
		text, _ := io.ReadAll(response.Body)
		response.Body = io.NopCloser(tells{bytes.NewReader(text), a.listed})
	}
	return response, nil
}

func (a *envoyAPI) envoy(name string) *v1alpha1.Envoy {
	spec := a.envoys[name]
	namespace, name, found := strings.Cut(name, "/")
	if !found {
		namespace, name = "shop", namespace
	}
	return &v1alpha1.Envoy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.KindEnvoy},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: strconv.Itoa(a.revision), Generation: int64(a.revision)},
		Spec:       spec,
	}
}

func leading(service string) v1alpha1.EnvoySpec {
	return v1alpha1.EnvoySpec{Listeners: []v1alpha1.Listener{{Name: "web", Port: 80, Service: service}}}
}

// watchedEnvoys runs the test in a bubble with a source that has asked once.
func watchedEnvoys(t *testing.T, refused int, test func(t *testing.T, a *envoyAPI, source *watch.Envoys, fleets *xds.Fleets)) {
	t.Helper()
	a := &envoyAPI{revision: 10, refused: refused, envoys: map[string]v1alpha1.EnvoySpec{
		"edge": leading("web"), "foreign": {XDS: &v1alpha1.EnvoyXDS{Name: "theirs", Host: "theirs.infra", Port: 1}},
	}}
	a.watchedEnvoys(t, []string{"shop"}, test)
}

// watchedEnvoys does it with the Envoys of these namespaces; none for all.
func (a *envoyAPI) watchedEnvoys(t *testing.T, namespaces []string, test func(t *testing.T, a *envoyAPI, source *watch.Envoys, fleets *xds.Fleets)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "https://192.0.2.1"}
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return a })
		fleets := xds.NewFleets()
		fleets.Await()
		source, err := watch.NewEnvoys(watch.EnvoyOptions{Way: kube.Fixed(config), Namespaces: namespaces, Fleets: fleets})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { source.Run(ctx) })
		time.Sleep(time.Second)
		test(t, a, source, fleets)
		cancel()
		running.Wait()
	})
}

func TestContract95ObjectsAreFleetsAndAreKeptWhateverTheAPIServerSays(t *testing.T) {
	watchedEnvoys(t, 0, func(t *testing.T, a *envoyAPI, source *watch.Envoys, fleets *xds.Fleets) {
		if got := fleets.Definition("shop/edge"); got.Carrier != xds.InObject || got.Problem != "" || !fleets.Complete() {
			t.Fatalf("got %+v, want the object", got)
		}
		if got := fleets.Definition("shop/foreign"); got.Carrier != "" {
			t.Errorf("got %+v of an object with a control plane of its own", got)
		}
		a.set(func() { a.envoys["edge"] = leading("No Service") })
		a.tell("MODIFIED", "edge")
		time.Sleep(time.Second)
		if got := fleets.Definition("shop/edge"); !strings.Contains(got.Problem, `object shop/edge, generation 11: listener "web" has service "No Service"`) {
			t.Errorf("got %+v, want the mistake", got)
		}
		a.tell("DELETED", "edge")
		time.Sleep(time.Second)
		if got := fleets.Definition("shop/edge"); !got.Kept {
			t.Errorf("got %+v of an object that is gone, want that it is kept", got)
		}
		a.set(func() { a.envoys["edge"] = leading("web") })
		a.expire()
		time.Sleep(5 * time.Second)
		if got := fleets.Definition("shop/edge"); got.Carrier != xds.InObject || got.Problem != "" || source.Problem() != nil {
			t.Errorf("got %+v, %v after it came back", got, source.Problem())
		}
	})
}

func TestContract95AKindThatIsMissingIsToldAndTakesNothingAway(t *testing.T) {
	watchedEnvoys(t, http.StatusNotFound, func(t *testing.T, a *envoyAPI, source *watch.Envoys, fleets *xds.Fleets) {
		if !errors.Is(source.Problem(), watch.ErrNoKind) || !fleets.Complete() {
			t.Fatalf("got %v, want that there is no such kind, and no more to wait for", source.Problem())
		}
		a.set(func() { a.refused = 0 })
		time.Sleep(20 * time.Second)
		if got := fleets.Definition("shop/edge"); got.Carrier != xds.InObject || source.Problem() != nil {
			t.Errorf("got %+v, %v after the kind was installed", got, source.Problem())
		}
		a.set(func() { a.refused = http.StatusNotFound })
		a.expire()
		time.Sleep(time.Minute)
		if got := fleets.Definition("shop/edge"); got.Carrier != xds.InObject || !errors.Is(source.Problem(), watch.ErrNoKind) {
			t.Errorf("got %+v, %v after the definition of the kind was deleted, want the fleet and why", got, source.Problem())
		}
	})
}

func TestContract95ARightThatIsMissingIsToldAndNothingIsServedBefore(t *testing.T) {
	watchedEnvoys(t, http.StatusForbidden, func(t *testing.T, a *envoyAPI, source *watch.Envoys, fleets *xds.Fleets) {
		if err := source.Problem(); err == nil || !strings.Contains(err.Error(), "watch Envoys of namespace shop") || fleets.Complete() {
			t.Errorf("got %v, want what is refused", err)
		}
		a.set(func() { a.refused = 0 })
		time.Sleep(5 * time.Second)
		if source.Problem() != nil || !fleets.Complete() {
			t.Errorf("got %v after the right was given", source.Problem())
		}
	})
}

func TestContract95IdleItAsksNothingButTheWatch(t *testing.T) {
	watchedEnvoys(t, 0, func(t *testing.T, a *envoyAPI, _ *watch.Envoys, _ *xds.Fleets) {
		a.set(func() { a.requests = 0 })
		time.Sleep(50 * time.Minute)
		a.set(func() {
			if a.requests > 150 {
				t.Errorf("got %d requests in 50 minutes, want a watch each 20 s at most", a.requests)
			}
		})
	})
}

func TestContract109ObjectsThatCannotBeReadAreToldWithTheirFleets(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError} {
		watchedEnvoys(t, 0, func(t *testing.T, a *envoyAPI, _ *watch.Envoys, fleets *xds.Fleets) {
			a.set(func() { a.refused = code })
			a.expire()
			time.Sleep(time.Minute)
			if got := fleets.Definition("shop/edge"); got.Unread == "" || got.Carrier != xds.InObject {
				t.Errorf("%d: got %+v, want why nothing confirms the fleet", code, got)
			}
			a.set(func() { a.refused = 0 })
			time.Sleep(time.Minute)
			if got := fleets.Definition("shop/edge"); got.Unread != "" {
				t.Errorf("%d: got %+v after it could be read again", code, got)
			}
		})
	}
}

func TestContract109ANamespaceThatCannotBeReadConcernsItsOwnFleets(t *testing.T) {
	a := &envoyAPI{revision: 10, envoys: map[string]v1alpha1.EnvoySpec{"edge": leading("web"), "blog/edge": leading("web")}}
	a.watchedEnvoys(t, []string{"blog", "shop"}, func(t *testing.T, a *envoyAPI, source *watch.Envoys, fleets *xds.Fleets) {
		a.set(func() { a.refused, a.refusedIn = http.StatusForbidden, "blog" })
		time.Sleep(2 * time.Minute)
		if got := fleets.Definition("blog/edge"); got.Carrier != xds.InObject || !strings.Contains(got.Unread, "namespace blog") || source.Problem() == nil {
			t.Errorf("got %+v, %v, want why nothing confirms the fleet", got, source.Problem())
		}
		if got := fleets.Definition("shop/edge"); got.Carrier != xds.InObject || got.Unread != "" {
			t.Errorf("got %+v of a fleet whose namespace can be read", got)
		}
	})
}
