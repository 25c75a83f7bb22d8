package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

const group = "/apis/endpoints.ablmnzde.github.io/v1alpha1/"

// specs of a pool and a binding.
const (
	blue = `{"source":{"static":{"nodes":[{"name":"w1","addresses":["10.7.0.11"]}]}},"subnets":["10.7.0.0/24"],"allow":[{"namespaces":["shop"],"ports":["30080"]}]}`
	web  = `{"pools":[{"name":"blue"}],"ports":[{"port":30080}]}`
)

// api is an API server with the objects of both kinds, by path below the group.
type api struct {
	mu       sync.Mutex
	revision int
	objects  map[string]string // the JSON of each
	// answers are the status of every request, by the name of the kind.
	answers map[string]int
	watches map[string][]*io.PipeWriter
	lists   int
	// updates are the statuses that were taken, attempts is how many were sent, refusing
	// the code that one is refused with, by a part of its path, 0 where it gets no answer.
	updates  []string
	attempts map[string]int
	refusing map[string]int
	// hold keeps the answer to the next status that is stored until it is closed.
	hold chan struct{}
	// drops are the fields of a status that the definition does not have.
	drops []string
}

func newAPI() *api {
	a := &api{objects: make(map[string]string), answers: make(map[string]int), watches: make(map[string][]*io.PipeWriter), attempts: make(map[string]int), refusing: make(map[string]int)}
	a.apply("endpointpools/blue", blue)
	a.apply("namespaces/shop/endpointbindings/web", web)
	return a
}

// kindOf is the name of the kind in a path.
func kindOf(path string) string {
	if strings.Contains(path, "endpointpools") {
		return "endpointpools"
	}
	return "endpointbindings"
}

// apply makes an object, or changes its spec.
func (a *api) apply(path, spec string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revision++
	parts := strings.Split(path, "/")
	metadata := map[string]any{"name": parts[len(parts)-1], "uid": "uid-" + path, "generation": a.revision, "resourceVersion": strconv.Itoa(a.revision)}
	kind := map[string]string{"endpointpools": "EndpointPool", "endpointbindings": "EndpointBinding"}[kindOf(path)]
	if len(parts) > 2 {
		metadata["namespace"] = parts[1]
	}
	what := "ADDED"
	if _, there := a.objects[path]; there {
		what = "MODIFIED"
	}
	text, _ := json.Marshal(map[string]any{"apiVersion": "endpoints.ablmnzde.github.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": json.RawMessage(spec)})
	a.objects[path] = string(text)
	a.tell(what, path)
}

// remove deletes an object; quietly no watch tells of it.
func (a *api) remove(path string, quietly bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revision++
	if !quietly {
		a.tell("DELETED", path)
	}
	delete(a.objects, path)
}

// tell sends an event. The lock is held.
func (a *api) tell(what, path string) {
	for _, w := range a.watches[kindOf(path)] {
		_, _ = io.WriteString(w, fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", what, a.objects[path]))
	}
}

// answer lets the API server answer requests about a kind with a status, 0 for as usual.
// It ends the watches.
func (a *api) answer(kind string, status int) {
	a.mu.Lock()
	a.answers[kind] = status
	watches := a.watches[kind]
	a.watches[kind] = nil
	a.mu.Unlock()
	for _, w := range watches {
		_, _ = io.WriteString(w, `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410}}`+"\n")
		_ = w.Close()
	}
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	path, _ := strings.CutPrefix(r.URL.Path, group)
	kind := kindOf(path)
	switch {
	case a.answers[kind] == http.StatusNotFound: // as a server that does not have the kind
		response := reply(r, http.StatusNotFound, "404 page not found\n")
		response.Header.Set("Content-Type", "text/plain")
		return response, nil
	case a.answers[kind] != 0:
		return reply(r, a.answers[kind], fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d,"reason":%q,"message":"no"}`, a.answers[kind], strings.ReplaceAll(http.StatusText(a.answers[kind]), " ", ""))), nil
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		switch code := a.put(path, body); code {
		case http.StatusOK:
		case 0:
			a.mu.Unlock()
			<-r.Context().Done()
			a.mu.Lock()
			return nil, r.Context().Err()
		default:
			return reply(r, code, fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d,"reason":%q,"message":"no"}`, code, reasons[code])), nil
		}
		answer := a.objects[strings.TrimSuffix(path, "/status")]
		if hold := a.hold; hold != nil {
			a.hold = nil
			a.mu.Unlock()
			<-hold
			a.mu.Lock()
		}
		return reply(r, http.StatusOK, answer), nil
	case r.URL.Query().Has("sendInitialEvents"):
		return reply(r, http.StatusUnprocessableEntity, `{}`), nil
	case r.URL.Query().Has("watch"):
		body, end := io.Pipe()
		a.watches[kind] = append(a.watches[kind], end)
		mark := time.AfterFunc(bookmarkAfter(r), func() {
			_, _ = io.WriteString(end, `{"type":"BOOKMARK","object":{"apiVersion":"endpoints.ablmnzde.github.io/v1alpha1","kind":"EndpointPool","metadata":{"resourceVersion":"1"}}}`+"\n")
		})
		context.AfterFunc(r.Context(), func() { mark.Stop(); _ = end.Close() })
		response := reply(r, http.StatusOK, "")
		response.Body = body
		return response, nil
	}
	a.lists++
	var items []string
	for _, path := range slices.Sorted(maps.Keys(a.objects)) {
		if kindOf(path) == kind {
			items = append(items, a.objects[path])
		}
	}
	list := map[string]string{"endpointpools": "EndpointPoolList", "endpointbindings": "EndpointBindingList"}[kind]
	return reply(r, http.StatusOK, fmt.Sprintf(`{"apiVersion":"endpoints.ablmnzde.github.io/v1alpha1","kind":%q,"metadata":{"resourceVersion":"%d"},"items":[%s]}`, list, a.revision, strings.Join(items, ","))), nil
}

// bookmarkAfter is when a real API server sends a bookmark: two seconds before the end.
func bookmarkAfter(r *http.Request) time.Duration {
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	return time.Duration(seconds-2) * time.Second
}

// reasons are those of the codes that a status is refused with.
var reasons = map[int]string{http.StatusForbidden: "Forbidden", http.StatusConflict: "Conflict", http.StatusUnprocessableEntity: "Invalid", http.StatusTooManyRequests: "TooManyRequests"}

func reply(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		Request: r, StatusCode: code, Status: http.StatusText(code), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
	}
}

// watched runs a watcher of the server until the test ends.
func watched(t *testing.T, a *api) *apiserver.Watcher {
	t.Helper()
	return running(t, newWatcher(t, a))
}

func running(t *testing.T, w *apiserver.Watcher) *apiserver.Watcher {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return w
}

func newWatcher(t *testing.T, a *api) *apiserver.Watcher {
	t.Helper()
	w, err := apiserver.New(kube.Fixed(&rest.Config{Host: "http://api", Transport: a}), documents.Bounds{
		Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Namespaces: []string{"*"}, Ports: settings.Ranges{{First: 1, Last: 65535}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// want compares what is in effect after so long.
func want(t *testing.T, w *apiserver.Watcher, after time.Duration, complete bool, keys ...string) documents.Set {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	set := w.Set()
	got := slices.Clone(keys[:0])
	for _, e := range set.Entries {
		key := e.Key.String()
		if e.Kept {
			key += " kept"
		}
		got = append(got, key)
	}
	if diff := cmp.Diff(keys, got); diff != "" || set.Complete != complete {
		t.Errorf("got complete %v, want %v; (-want +got):\n%s", set.Complete, complete, diff)
	}
	return set
}

const (
	poolBlue   = "EndpointPool blue"
	bindingWeb = "EndpointBinding shop/web"
	soon       = time.Second
	// asked is after when a server that did not have a kind, or a right, was asked again.
	asked = 16 * time.Second
)

func TestContract81ObjectsAreDocumentsAsSoonAsTheyAreApplied(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		w := watched(t, a)
		want(t, w, soon, true, bindingWeb, poolBlue)
		a.apply("namespaces/shop/endpointbindings/cart", web)
		want(t, w, soon, true, "EndpointBinding shop/cart", bindingWeb, poolBlue)
		a.apply("endpointpools/blue", strings.Replace(blue, `"subnets"`, `"newer":1,"subnets"`, 1))
		set := want(t, w, soon, true, "EndpointBinding shop/cart", bindingWeb, poolBlue+" kept")
		if text := documents.Mistakes(set.Mistakes).Error(); !strings.Contains(text, "EndpointPool blue spec.newer: is not a field") {
			t.Errorf("got %s", text)
		}
		a.remove("namespaces/shop/endpointbindings/cart", false)
		a.apply("endpointpools/blue", blue)
		want(t, w, soon, true, bindingWeb, poolBlue)
		if a.lists != 2 {
			t.Errorf("got %d lists, want one of each kind", a.lists)
		}
	})
}

// Contract 81: what only a list leaves out is gone when a second list leaves it out too.
func TestContract81AListThatLeavesOutAnObjectIsAskedForAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		w := watched(t, a)
		want(t, w, soon, true, bindingWeb, poolBlue)
		a.remove("namespaces/shop/endpointbindings/web", true)
		a.answer("endpointbindings", 0) // the watch expires
		want(t, w, soon, true, bindingWeb, poolBlue)
		a.apply("namespaces/shop/endpointbindings/web", web)
		want(t, w, 5*time.Second, true, bindingWeb, poolBlue)
		a.remove("namespaces/shop/endpointbindings/web", true)
		a.answer("endpointbindings", 0)
		want(t, w, soon, true, bindingWeb, poolBlue)
		want(t, w, 5*time.Second, true, poolBlue)
	})
}

// Contract 82: without the kinds there is nothing, and that is certain; the kinds may
// come, go, and come back, each alone.
func TestContract82KindsComeAndGo(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.answer("endpointpools", http.StatusNotFound)
		a.answer("endpointbindings", http.StatusNotFound)
		w := watched(t, a)
		if set := want(t, w, soon, true); len(set.Missing) != 2 || len(set.Mistakes) > 0 {
			t.Errorf("got %+v, want both kinds missing, and no mistake", set)
		}
		before := a.lists
		a.answer("endpointpools", 0)
		want(t, w, asked, true, poolBlue)
		a.answer("endpointbindings", 0)
		want(t, w, asked, true, bindingWeb, poolBlue)

		t.Log("one kind is lost")
		a.answer("endpointbindings", http.StatusNotFound)
		set := want(t, w, asked, false, bindingWeb, poolBlue)
		if text := documents.Mistakes(set.Mistakes).Error(); !strings.Contains(text, "API server: EndpointBinding: is lost") {
			t.Errorf("got %s", text)
		}
		a.answer("endpointbindings", 0)
		want(t, w, asked, true, bindingWeb, poolBlue)

		t.Log("the kind is deleted with its objects, and made anew")
		a.remove("endpointpools/blue", false)
		a.answer("endpointpools", http.StatusNotFound)
		want(t, w, asked, false, bindingWeb)
		a.answer("endpointpools", 0)
		want(t, w, asked, true, bindingWeb)
		a.apply("endpointpools/blue", blue)
		want(t, w, soon, true, bindingWeb, poolBlue)
		if a.lists == before {
			t.Error("nothing was listed")
		}
	})
}

// Contract 82: a right that is missing, and a server that fails, say nothing of objects.
func TestContract82ARefusedListSaysNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.answer("endpointpools", http.StatusForbidden)
		w := watched(t, a)
		set := want(t, w, soon, false, bindingWeb)
		if text := documents.Mistakes(set.Mistakes).Error(); !strings.Contains(text, "EndpointPool: cannot be listed: no; give this program the right to list and watch endpointpools") {
			t.Errorf("got %s", text)
		}
		a.answer("endpointpools", 0)
		want(t, w, asked, true, bindingWeb, poolBlue)
		a.answer("endpointpools", http.StatusInternalServerError)
		want(t, w, soon, true, bindingWeb, poolBlue)
		set = want(t, w, 90*time.Second, false, bindingWeb, poolBlue)
		if text := documents.Mistakes(set.Mistakes).Error(); !strings.Contains(text, "EndpointPool: may be out of date: the watch of EndpointPool has sent no event since") {
			t.Errorf("got %s", text)
		}
		a.answer("endpointpools", 0)
		want(t, w, 5*time.Second, true, bindingWeb, poolBlue)
	})
}

// Contract 81: nothing is known before both kinds were listed, but a server that fails is
// not waited for for ever.
func TestContract81NothingIsKnownBeforeTheFirstLists(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.answer("endpointpools", http.StatusInternalServerError)
		w := watched(t, a)
		if set := want(t, w, 5*time.Second, false); set.Generation != 0 {
			t.Errorf("got %+v, want nothing", set)
		}
		if set := want(t, w, 7*time.Second, false, bindingWeb); set.Generation == 0 {
			t.Errorf("got %+v, want what is known", set)
		}
	})
}

func TestReadListsOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		set := newWatcher(t, a).Read(t.Context())
		if len(set.Entries) != 2 || !set.Complete || a.lists != 2 {
			t.Errorf("got %+v, %d lists", set, a.lists)
		}
	})
}

// Contract 115: the API server was restored from a backup, and what was applied since is
// another change with the same generation.
func TestContract115AListIsDecodedAnew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		w := watched(t, a)
		before := want(t, w, soon, true, bindingWeb, poolBlue)
		a.mu.Lock()
		const path = "namespaces/shop/endpointbindings/web"
		a.objects[path] = strings.Replace(a.objects[path], "blue", "green", 1)
		a.mu.Unlock()
		a.answer("endpointbindings", 0) // ends the watch, so that a list follows
		after := want(t, w, 5*time.Second, true, bindingWeb, poolBlue)
		key := documents.Key{Kind: "EndpointBinding", Namespace: "shop", Name: "web"}
		was, _ := before.Entry(key)
		is, _ := after.Entry(key)
		if fmt.Sprint(was.Binding.Spec.PoolNames(), is.Binding.Spec.PoolNames()) != "[blue] [green]" || was.Object.Generation != is.Object.Generation {
			t.Errorf("got pools %v, then %v, want those of the list", was.Binding.Spec.PoolNames(), is.Binding.Spec.PoolNames())
		}
	})
}

// TestContract123AWatchThatLeavesFieldsOutIsCorrected: while the API server takes a definition
// of another version, the watch that ends may leave out fields of an object that was applied
// already. The next event of the object, as of our status, has the same generation.
func TestContract123AWatchThatLeavesFieldsOutIsCorrected(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		w := watched(t, a)
		want(t, w, soon, true, bindingWeb, poolBlue)
		a.apply("endpointpools/blue", strings.Replace(blue, `,"subnets":["10.7.0.0/24"]`, "", 1))
		want(t, w, soon, true, bindingWeb, poolBlue+" kept")
		a.mu.Lock()
		object := a.objects["endpointpools/blue"]
		a.revision++
		object = strings.Replace(object, `"allow"`, `"subnets":["10.7.0.0/24"],"allow"`, 1)
		a.objects["endpointpools/blue"] = strings.Replace(object, fmt.Sprintf(`"resourceVersion":"%d"`, a.revision-1), fmt.Sprintf(`"resourceVersion":"%d"`, a.revision), 1)
		a.tell("MODIFIED", "endpointpools/blue")
		a.mu.Unlock()
		want(t, w, soon, true, bindingWeb, poolBlue)
	})
}

// pass lets so many changes of other kinds pass, of which bookmarks tell.
func (a *api) pass(changes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revision += changes
	for kind, name := range map[string]string{"endpointpools": "EndpointPool", "endpointbindings": "EndpointBinding"} {
		for _, w := range a.watches[kind] {
			_, _ = io.WriteString(w, fmt.Sprintf(`{"type":"BOOKMARK","object":{"apiVersion":"endpoints.ablmnzde.github.io/v1alpha1","kind":%q,"metadata":{"resourceVersion":"%d"}}}`+"\n", name, a.revision))
		}
	}
}

// restore lets the API server come back with other objects and a lower revision.
func (a *api) restore(revision int, listed map[string]string) {
	a.mu.Lock()
	a.revision, a.objects = revision, listed
	a.mu.Unlock()
	for _, kind := range []string{"endpointpools", "endpointbindings"} {
		a.answer(kind, 0) // ends the watch, so that a list follows
	}
}

// Contract 135: what was changed or made after the backup stays as it was, until somebody
// decides. A list of a later revision that leaves out what the restore took away says
// nothing new.
func TestContract135ARestoredServerTakesNoDocumentBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		w := watched(t, a)
		want(t, w, soon, true, bindingWeb, poolBlue)
		a.mu.Lock()
		revision, listed := a.revision, maps.Clone(a.objects)
		a.mu.Unlock()
		wider := strings.Replace(blue, `"10.7.0.0/24"`, `"10.7.0.0/24","10.8.0.0/24"`, 1)
		a.apply("endpointpools/blue", wider)
		a.apply("endpointpools/green", blue)
		a.apply("namespaces/shop/endpointbindings/cart", strings.Replace(web, "blue", "green", 1))
		const cart, poolGreen = "EndpointBinding shop/cart", "EndpointPool green"
		before := want(t, w, soon, true, cart, bindingWeb, poolBlue, poolGreen)

		a.pass(1000)
		synctest.Wait()
		a.restore(revision+100, maps.Clone(listed)) // it has gone on since it came back
		kept := want(t, w, 10*time.Second, true, cart+" kept", bindingWeb, poolBlue+" kept", poolGreen+" kept")
		if diff := cmp.Diff(before.Pools(), kept.Pools()); diff != "" {
			t.Errorf("other pools are in effect (-before +after):\n%s", diff)
		}
		a.restore(revision+2000, maps.Clone(listed))
		want(t, w, 10*time.Second, true, cart+" kept", bindingWeb, poolBlue+" kept", poolGreen+" kept")

		t.Log("somebody decides")
		a.apply("endpointpools/blue", strings.Replace(blue, "30080", "30081", 1))
		a.apply("endpointpools/green", blue)
		a.apply("namespaces/shop/endpointbindings/cart", web)
		a.remove("namespaces/shop/endpointbindings/cart", false)
		set := want(t, w, soon, true, bindingWeb, poolBlue, poolGreen)
		if got := set.Pools()[0].Spec; len(got.Subnets) != 1 || got.Allow[0].Ports[0] != "30081" || len(set.Mistakes) > 0 {
			t.Errorf("got %+v, mistakes %v, want the new decision", got, set.Mistakes)
		}
	})
}
