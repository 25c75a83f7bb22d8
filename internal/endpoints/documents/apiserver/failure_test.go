package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// refusesStatus lets the server refuse statuses, by a part of their path.
func (a *api) refusesStatus(codes map[string]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refusing = codes
}

// tried is how often the status of a binding was sent.
func (a *api) tried(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attempts["namespaces/shop/endpointbindings/"+name+"/status"]
}

// crowd makes many bindings beside web.
func (a *api) crowd(count int, prefix string) (names []string) {
	for i := range count {
		name := fmt.Sprintf("%s-%d", prefix, i)
		a.apply("namespaces/shop/endpointbindings/"+name, web)
		names = append(names, name)
	}
	return names
}

// said is what was told of trouble: how many objects each time.
func (w *wantedStatus) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, t := range w.troubles {
		all = append(all, fmt.Sprint(len(t)))
	}
	return strings.Join(all, ", ")
}

// Contract 114: what refuses the status of one object is told once, and the object is tried
// ever more rarely.
func TestContract114ARefusedStatusIsToldOnce(t *testing.T) {
	for name, code := range map[string]int{
		"no right": http.StatusForbidden, "invalid": http.StatusUnprocessableEntity, "a webhook that fails": http.StatusInternalServerError,
		"conflict each time": http.StatusConflict, "no status subresource": http.StatusNotFound,
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a, w := newAPI(), &wantedStatus{ready: 2}
				a.refusesStatus(map[string]int{"web": code})
				telling(t, a, w)
				a.got(t, 10*time.Minute, 0)
				if got := w.said(); got != "1" {
					t.Errorf("got troubles of %s objects, want one object once", got)
				}
				w.set(func() {
					if text := fmt.Sprint(w.troubles[0][0].Key); text != "EndpointBinding shop/web" {
						t.Errorf("got trouble about %s", text)
					}
				})
				if got := a.tried("web"); got < 5 || got > 9 {
					t.Errorf("got %d attempts in ten minutes, want 5 to 9", got)
				}
				a.refusesStatus(nil)
				a.got(t, 5*time.Minute+2*time.Second, 1)
				if got := w.said(); got != "1, 0" {
					t.Errorf("got troubles of %s objects, want that it is over", got)
				}
			})
		})
	}
}

// Contract 114: an object that changed meanwhile is no trouble, and one that changes is
// tried again soon.
func TestContract114ANewVersionIsTriedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2}
		a.refusesStatus(map[string]int{"web": http.StatusUnprocessableEntity})
		telling(t, a, w)
		a.got(t, 5*time.Minute, 0)
		a.refusesStatus(nil)
		a.apply("namespaces/shop/endpointbindings/web", web)
		a.got(t, 3*time.Second, 1)
		w.set(func() { w.troubles, w.ready = nil, 3 })
		a.refusesStatus(map[string]int{"web": http.StatusConflict})
		a.got(t, 10*time.Second, 1)
		a.refusesStatus(nil)
		a.got(t, 15*time.Second, 2)
		if got := w.said(); got != "" {
			t.Errorf("got troubles of %s objects, want none", got)
		}
	})
}

// Contract 114: a server that is busy for a moment is no trouble of any object.
func TestContract114AServerThatIsBusyIsNoTrouble(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, w := newAPI(), &wantedStatus{ready: 2}
		a.refusesStatus(map[string]int{"web": http.StatusTooManyRequests})
		telling(t, a, w)
		a.got(t, 10*time.Second, 0)
		a.refusesStatus(nil)
		a.got(t, 10*time.Second, 1)
		if got := w.said(); got != "" {
			t.Errorf("got troubles of %s objects, want none", got)
		}
	})
}

// Contract 114: objects that are refused, or whose write hangs, hold up no others.
func TestContract114ARefusedStatusHoldsUpNoOther(t *testing.T) {
	for name, code := range map[string]int{"refused": http.StatusForbidden, "hanging": 0} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a, w := newAPI(), &wantedStatus{ready: 2}
				w.more = append(a.crowd(40, "bad"), a.crowd(20, "good")...)
				a.refusesStatus(map[string]int{"bad-": code})
				telling(t, a, w)
				a.got(t, 2*time.Minute, 21)
				t.Log("everything changes")
				w.set(func() { w.ready++ })
				a.got(t, 10*time.Second, 42)
				before := a.tried("bad-0")
				a.got(t, 8*time.Minute, 42)
				if got := a.tried("bad-0") - before; got > 6 {
					t.Errorf("got %d attempts of one object in eight minutes, want 6 at most", got)
				}
				if got := w.said(); strings.Contains(got, " 0") || !strings.HasSuffix(got, "40") {
					t.Errorf("got troubles of %s objects, want 40 in the end", got)
				}
			})
		})
	}
}

// Contract 114: without the right, many objects are no storm; with it all are written.
func TestContract114WithoutTheRightThereIsNoStorm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const many = 50
		a, w := newAPI(), &wantedStatus{ready: 2}
		w.more = a.crowd(many-1, "b")
		a.refusesStatus(map[string]int{"/": http.StatusForbidden})
		telling(t, a, w)
		total := func() (sum int) {
			a.mu.Lock()
			defer a.mu.Unlock()
			for _, n := range a.attempts {
				sum += n
			}
			return sum
		}
		a.got(t, time.Second, 0)
		if got := total(); got > 32 {
			t.Errorf("got %d attempts in the first second, want 32 at most", got)
		}
		time.Sleep(10 * time.Minute)
		before := total()
		a.got(t, 5*time.Minute, 0)
		if got := total() - before; got > 2*many {
			t.Errorf("got %d attempts in five minutes, want 2 of each object at most", got)
		}
		a.refusesStatus(nil)
		a.got(t, 5*time.Minute+time.Minute, many)
		w.set(func() {
			if last := w.troubles[len(w.troubles)-1]; len(last) != 0 {
				t.Errorf("got trouble of %d objects, want that it is over", len(last))
			}
		})
	})
}
