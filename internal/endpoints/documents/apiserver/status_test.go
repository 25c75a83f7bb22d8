package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// wantedStatus is what the binding web is to say.
type wantedStatus struct {
	mu          sync.Mutex
	ready       int32
	busy, early bool
	fenced      int
	// changes is how often any of that changed, looks how often it was asked for.
	changes, looks int
	troubles       [][]apiserver.Failure
	// more are bindings beside web.
	more []string
}

func (w *wantedStatus) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	change()
}

func (w *wantedStatus) looked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks
}

func (w *wantedStatus) options() apiserver.StatusOptions {
	return apiserver.StatusOptions{
		Want: func() (iter.Seq[apiserver.Status], bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.looks++
			is := metav1.ConditionFalse
			if w.ready > 0 {
				is = metav1.ConditionTrue
			}
			var all []apiserver.Status
			for _, name := range append([]string{"web"}, w.more...) {
				all = append(all, apiserver.Status{
					Key: documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: "shop", Name: name}, UID: "uid-namespaces/shop/endpointbindings/" + name, Early: w.early,
					Binding: &v1alpha1.EndpointBindingStatus{
						Endpoints:  v1alpha1.EndpointCounts{Ready: w.ready},
						Conditions: []metav1.Condition{{Type: "Ready", Status: is, Reason: "Any", Message: fmt.Sprint(w.ready, " ready")}},
					},
				})
			}
			return slices.Values(all), w.busy
		},
		Revision: func() uint64 {
			w.mu.Lock()
			defer w.mu.Unlock()
			return uint64(w.changes)<<32 + uint64(time.Now().Unix()/30) // two passes a minute
		},
		Fence: func(ctx context.Context, write func(context.Context) error) error {
			w.mu.Lock()
			w.fenced++
			w.mu.Unlock()
			return write(ctx)
		},
		Trouble: func(unwritten []apiserver.Failure) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.troubles = append(w.troubles, unwritten)
		},
	}
}

// telling keeps the statuses until the test ends.
func telling(t *testing.T, a *api, w *wantedStatus) {
	t.Helper()
	tellingAs(t, a, w.options())
}

func tellingAs(t *testing.T, a *api, options apiserver.StatusOptions) {
	t.Helper()
	watcher := watched(t, a)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watcher.Tell(ctx, options)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// updates is how many statuses the server got after so long.
func (a *api) got(t *testing.T, after time.Duration, want int) {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.updates) != want {
		t.Errorf("got %d updates, want %d: %v", len(a.updates), want, a.updates)
	}
}

// transition is when the last update says that the condition changed.
func (a *api) transition(t *testing.T) time.Time {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	var binding v1alpha1.EndpointBinding
	_, text, _ := strings.Cut(a.updates[len(a.updates)-1], " ")
	if err := json.Unmarshal([]byte(text), &binding); err != nil {
		t.Fatal(err)
	}
	if binding.UID == "" || binding.ResourceVersion == "" {
		t.Errorf("the update has no fence: %s", text)
	}
	return binding.Status.Conditions[0].LastTransitionTime.Time
}

func TestContract83AStatusIsWrittenOnceAndNotAtRest(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2}
		telling(t, a, w)
		a.got(t, 3*time.Second, 1)
		first := a.transition(t)
		a.got(t, time.Minute, 1)

		t.Log("a value changes all the time")
		for range 20 {
			w.set(func() { w.ready++ })
			time.Sleep(500 * time.Millisecond)
		}
		a.got(t, 10*time.Second, 4)
		if got := a.transition(t); !got.Equal(first) {
			t.Errorf("got transition %s, want %s: the condition is what it was", got, first)
		}
		w.set(func() { w.ready = 0 })
		a.got(t, 6*time.Second, 5)
		if got := a.transition(t); !got.After(first) {
			t.Errorf("got transition %s, want a later one than %s", got, first)
		}
		if w.fenced != 5 {
			t.Errorf("got %d writes behind the fence, want all 5", w.fenced)
		}
	})
}

// Contract 83: at rest it is not worked out each second what 1,000 objects are to say, but
// one that another hand changed is put right at once.
func TestContract83AtRestNothingIsCompared(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2}
		telling(t, a, w)
		a.got(t, 10*time.Second, 1)
		before := w.looked()
		a.got(t, 5*time.Minute, 1)
		if got := w.looked() - before; got > 10 {
			t.Errorf("what objects are to say was asked for %d times in five minutes of two passes each, want at most 10", got)
		}
		a.mu.Lock()
		a.put("namespaces/shop/endpointbindings/web/status", []byte(`{"status":{"ready":"9/9"}}`))
		a.mu.Unlock()
		a.got(t, 2*time.Second, 3) // that one, and ours
	})
}

// Contract 83: a process that starts writes nothing where an object says that already.
func TestContract83ARestartWritesNoStatus(t *testing.T) {
	a := newAPI()
	for range 2 {
		bubble.Test(t, func(t *testing.T) {
			w := &wantedStatus{ready: 2}
			telling(t, a, w)
			a.got(t, 10*time.Second, 1)
		})
	}
}

// Contract 83: slices that wait are written first, but one that cannot be written does not
// hold up every status for ever; nor does an object of which more will be known soon.
func TestContract83SlicesGoFirst(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2, busy: true}
		telling(t, a, w)
		a.got(t, 20*time.Second, 0)
		w.set(func() { w.busy, w.early = false, true })
		a.got(t, 20*time.Second, 0)
		w.set(func() { w.early = false })
		a.got(t, 2*time.Second, 1)
		w.set(func() { w.busy, w.ready = true, 3 })
		a.got(t, 28*time.Second, 1)
		a.got(t, 5*time.Second, 2)
		w.set(func() { w.busy, w.early, w.ready = false, true, 4 })
		a.got(t, 28*time.Second, 2)
		a.got(t, 5*time.Second, 3)
	})
}

// Contract 83: another object of the same name is not told what the one before was.
func TestContract83AnotherObjectOfTheNameIsNotTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2}
		a.mu.Lock()
		const path = "namespaces/shop/endpointbindings/web"
		a.objects[path] = strings.Replace(a.objects[path], "uid-"+path, "another", 1)
		a.mu.Unlock()
		telling(t, a, w)
		a.got(t, 10*time.Second, 0)
	})
}

// TestContract83AnAnswerThatIsLateUndoesNothing: meanwhile the spec changed, and a status that is
// written into the version of the answer would be refused for ever.
func TestContract83AnAnswerThatIsLateUndoesNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2}
		late := make(chan struct{})
		a.hold = late
		telling(t, a, w)
		a.got(t, 2*time.Second, 1) // it is stored, and the answer is on its way
		const path = "namespaces/shop/endpointbindings/web"
		a.apply(path, strings.ReplaceAll(web, "30080", "30081"))
		synctest.Wait()
		close(late)
		synctest.Wait()
		a.mu.Lock()
		version := a.revision
		a.mu.Unlock()
		w.set(func() { w.ready = 3 })
		a.got(t, time.Minute, 2)
		a.mu.Lock()
		defer a.mu.Unlock()
		if got := a.updates[1]; !strings.Contains(got, fmt.Sprintf(`"resourceVersion":"%d"`, version)) {
			t.Errorf("got the status %s, want it for version %d", got, version)
		}
	})
}

// TestContract33NamesThatAreGoneAreForgotten: a team makes and deletes objects under ever new names.
func TestContract33NamesThatAreGoneAreForgotten(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2}
		telling(t, a, w)
		long, written := strings.Repeat("n", 230), 0
		rounds := func(from, to int) int {
			for round := from; round < to; round++ {
				var names []string
				for i := range 100 {
					names = append(names, fmt.Sprintf("%s-%d-%d", long, round, i))
					a.apply("namespaces/shop/endpointbindings/"+names[i], web)
				}
				w.set(func() { w.more = names })
				time.Sleep(time.Minute)
				for _, name := range names {
					a.remove("namespaces/shop/endpointbindings/"+name, false)
				}
				w.set(func() { w.more = nil })
				time.Sleep(time.Minute)
				a.mu.Lock()
				written += len(a.updates)
				a.updates, a.attempts = nil, make(map[string]int)
				a.mu.Unlock()
			}
			return memory.Live()
		}
		// What is live jumps by more than that and falls again; what is not forgotten grows each time.
		before, least := rounds(0, 4), math.MaxInt
		for from := 4; from < 24; from += 2 {
			now := rounds(from, from+2)
			before, least = now, min(least, now-before)
		}
		if written < 1200 { // a watch that begins anew misses some: this API server has no history
			t.Errorf("%d statuses were written, want most of 2,400", written)
		}
		if least > 32<<10 { // their names alone are 47 KiB
			t.Errorf("200 names that are gone cost %d KiB at least, each time", least>>10)
		}
	})
}

// put takes a status in, as the API server does.
func (a *api) put(path string, body []byte) int {
	a.attempts[path]++
	for part, code := range a.refusing {
		if strings.Contains(path, part) {
			return code
		}
	}
	a.updates = append(a.updates, path+" "+string(body))
	a.revision++
	path = strings.TrimSuffix(path, "/status")
	var object, update map[string]any
	if json.Unmarshal([]byte(a.objects[path]), &object) != nil || json.Unmarshal(body, &update) != nil {
		return http.StatusBadRequest
	}
	object["status"] = update["status"]
	for _, field := range a.drops {
		delete(object["status"].(map[string]any), field)
	}
	object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(a.revision)
	text, err := json.Marshal(object)
	if err != nil {
		return http.StatusBadRequest
	}
	a.objects[path] = string(text)
	a.tell("MODIFIED", path)
	return http.StatusOK
}

// Contract 123: a definition that does not have a field of the status costs one write for
// each change, and one in five minutes until the field is there.
func TestContract123AStatusThatIsNotStoredAsSentIsNotWrittenAgainAndAgain(t *testing.T) {
	for name, fields := range map[string][]string{"columns": {"endpoints", "ready"}, "conditions": {"conditions"}, "everything": {"conditions", "endpoints", "ready"}} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a, w := newAPI(), &wantedStatus{ready: 2}
				a.drops = fields
				telling(t, a, w)
				a.got(t, 3*time.Second, 1)
				first := a.transition(t)
				a.got(t, 4*time.Minute, 1)
				w.set(func() { w.ready++ })
				a.got(t, 3*time.Second, 2)
				if got := a.transition(t); !got.Equal(first) {
					t.Errorf("got transition %s, want %s: the condition is what it was", got, first)
				}
				t.Log("the object changes, the status does not")
				a.apply("namespaces/shop/endpointbindings/web", web)
				a.got(t, 10*time.Second, 3)
				a.mu.Lock()
				a.drops = nil
				a.mu.Unlock()
				a.got(t, 4*time.Minute, 3)
				a.got(t, 90*time.Second, 4)
				a.got(t, 20*time.Minute, 4)
				if got := w.said(); got != "" {
					t.Errorf("got troubles of %s objects, want none", got)
				}
			})
		})
	}
}

// TestContract85ObjectsThatChangeAllTheTimeHoldUpNoOther: 40 of a team do, and come before the one of
// another; the API server takes a second for each status.
func TestContract85ObjectsThatChangeAllTheTimeHoldUpNoOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2}
		w.more = a.crowd(40, "a")
		options := w.options()
		wanted := options.Want
		options.Want = func() (iter.Seq[apiserver.Status], bool) {
			all, busy := wanted()
			list := slices.Collect(all)
			for _, of := range list[1:] {
				of.Binding.Ready = fmt.Sprint(time.Now().UnixNano())
			}
			return slices.Values(append(list[1:], list[0])), busy
		}
		options.Revision = func() uint64 { return uint64(time.Now().UnixNano()) }
		options.Fence = func(ctx context.Context, write func(context.Context) error) error {
			time.Sleep(time.Second)
			return write(ctx)
		}
		tellingAs(t, a, options)
		time.Sleep(time.Minute)
		synctest.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		if of := func(update string) bool { return strings.Contains(update, `"name":"web"`) }; !slices.ContainsFunc(a.updates, of) {
			t.Errorf("of %d statuses in a minute none is that of web", len(a.updates))
		}
	})
}
