package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// halfListed is a cluster in which the namespace blog cannot be listed.
type halfListed struct{ worldHub }

var errForbidden = errors.New("services is forbidden")

func (h halfListed) Local() assign.Local {
	out := h.worldHub.Local()
	for i := range out.Sights {
		if sight := &out.Sights[i]; sight.Namespace == "blog" {
			sight.Complete, sight.Err = false, errForbidden
		}
	}
	return out
}

func (h halfListed) Open(of publish.Target) (controller.Store, error) {
	store, err := h.worldHub.Open(of)
	if of.Namespace == "blog" {
		return forbiddenStore{store}, err
	}
	return store, err
}

// forbiddenStore is a store in that namespace.
type forbiddenStore struct{ controller.Store }

func (forbiddenStore) Load(context.Context) (publish.State, error) {
	return publish.State{}, errForbidden
}

// Contract 72: a command does for each Service what it can, whatever else it may not read.
func TestContract72OneLookKnowsANamespaceWhateverItMayReadOfAnother(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pool("blue", "10.0.0.1")
		w.documents(poolOf("blue", "10.0.0.0/24"), bindingOf("blog/web", "blue", "ports: [{port: 80}]"), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
		w.service("shop/web", "http:80")
		w.service("blog/web", "http:80")
		options := w.options()
		options.Hub, options.DryRun = halfListed{worldHub{w}}, true
		server, err := controller.New(options)
		if err != nil {
			t.Fatal(err)
		}
		got, err := server.Once(t.Context(), func(string, int, int) {})
		if err != nil || len(got.Assessed) != 2 {
			t.Fatalf("got %d targets, %v, want both", len(got.Assessed), err)
		}
		for i, want := range []error{errForbidden, nil} {
			fill := got.Assessed[i].Fills[0]
			if !errors.Is(fill.StoreErr, want) || (len(fill.Writes) == 1) != (want == nil) {
				t.Errorf("%s: got %v and %d writes, want %v", got.Assessed[i].Key, fill.StoreErr, len(fill.Writes), want)
			}
		}
	})
}

// once lets a single run fill what these documents say.
func (w *world) once(texts ...string) {
	w.t.Helper()
	w.documents(texts...)
	server, err := controller.New(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := server.Once(w.t.Context(), func(string, int, int) {}); err != nil {
		w.t.Fatal(err)
	}
}

// Contract 72: a single run writes what takes over before it empties what was there.
func TestContract72ASingleRunEmptiesLast(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:80")
		w.once(pools, bindingOf("shop/web", "blue"))
		w.once(pools, bindingOf("shop/web", "red"))
		if want := []string{"create shop/web.blue", "create shop/web.red", "update shop/web.blue"}; !slices.Equal(w.writes, want) {
			t.Errorf("got writes %q, want %q", w.writes, want)
		}
		w.once(pools, bindingOf("shop/web", "red"))
		if len(w.writes) != 3 || len(w.events) != 3 || !strings.HasPrefix(w.events[0], "shop/web EndpointsUpdated: 2 of 2 endpoints ready") {
			t.Errorf("got %d writes and Events %q, want none of what is right, and one for each write", len(w.writes), w.events)
		}
	})
}

// Contract 228: a single run ends a drain that is over, and begins none anew.
func TestContract228ASingleRunEndsADrain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		drain func(*world)
		pool  string
		want  []string
	}{
		"an inventory leaves it out": {func(w *world) { w.pool("blue", "10.0.0.2") }, "blue", []string{"10.0.0.2=ready"}},
		"another pool takes over":    {func(*world) {}, "red", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w, pools := blueAndRed(t)
				w.service("shop/web", "http:80")
				w.once(pools, bindingOf("shop/web", "blue"))
				test.drain(w)
				for began := time.Now(); time.Since(began) < worldDrain; time.Sleep(worldDrain / 5) {
					w.once(pools, bindingOf("shop/web", test.pool))
					if got := w.in("shop/web.blue"); len(got) != 2 || got[0] != "10.0.0.1=draining" {
						t.Fatalf("got %q after %v, want 10.0.0.1 draining", got, time.Since(began))
					}
				}
				time.Sleep(worldDrain / 5) // it began in the first run, not before
				w.once(pools, bindingOf("shop/web", test.pool))
				if got := w.in("shop/web.blue"); !slices.Equal(got, test.want) {
					t.Errorf("got %q after the drain period, want %q", got, test.want)
				}
			})
		})
	}
}

// Contract 72: a single run writes the slices that lose an endpoint before those that only
// get some. It writes eight at the same time.
func TestContract72ASingleRunWritesLossesFirst(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pool("blue", "10.0.0.1", "10.0.0.2")
		texts := []string{poolOf("blue", "10.0.0.0/24")}
		add := func(service string) {
			texts = append(texts, bindingOf(service, "blue", "ports: [{port: 80}]"))
			w.service(service, "http:80")
		}
		add("shop/web-99")
		w.once(texts...)
		for i := range 40 {
			add(fmt.Sprintf("shop/web-%d", i+10))
		}
		w.dead["10.0.0.2"], w.writes = true, nil
		w.fault = func(publish.Target, publish.Write) (time.Duration, error) { return 50 * time.Millisecond, nil }
		w.once(texts...)
		isLoss := func(write string) bool { return strings.HasPrefix(write, string(publish.Update)) }
		if at := slices.IndexFunc(w.writes, isLoss); at < 0 || at >= 16 || len(w.writes) != 41 {
			t.Errorf("got the loss at %d of %q, want it next after the eight that were under way", at, w.writes)
		}
	})
}

// late is a cluster whose slices can be read the second time only.
type late struct{ worldHub }

type lateStore struct {
	controller.Store
	read bool
}

func (l late) Open(of publish.Target) (controller.Store, error) {
	store, err := l.worldHub.Open(of)
	return &lateStore{Store: store}, err
}

var errAway = errors.New("the API server is away")

func (l *lateStore) Load(ctx context.Context) (publish.State, error) {
	if !l.read {
		l.read = true
		return publish.State{}, errAway
	}
	return l.Store.Load(ctx)
}

// Contract 72: what was decided without the slices is not written to them: it would take away
// what an inventory that is rejected leaves out.
func TestContract72ASingleRunDoesNotWriteToSlicesThatItCouldNotReadFirst(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		texts := []string{poolOf("blue", "10.0.0.0/24"), bindingOf("shop/web", "blue", "ports: [{port: 80}]")}
		w.service("shop/web", "http:80")
		w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3")
		w.once(texts...)
		w.pool("blue", "10.0.0.1")
		options := w.options()
		options.Hub = late{worldHub{w}}
		server, err := controller.New(options)
		if err != nil {
			t.Fatal(err)
		}
		w.writes = nil
		got, err := server.Once(t.Context(), func(string, int, int) {})
		if err != nil || !errors.Is(got.Assessed[0].Fills[0].StoreErr, errAway) || len(w.writes) != 0 {
			t.Errorf("got %v and writes %q, want none and why", err, w.writes)
		}
	})
}

// stopHub is a cluster that ends the program with its first write.
type stopHub struct {
	worldHub
	stop context.CancelFunc
}

type stoppedStore struct {
	controller.Store
	stop context.CancelFunc
}

func (s stopHub) Open(of publish.Target) (controller.Store, error) {
	store, err := s.worldHub.Open(of)
	return stoppedStore{store, s.stop}, err
}

func (s stoppedStore) Write(ctx context.Context, w publish.Write) (string, error) {
	defer s.stop()
	return s.Store.Write(ctx, w)
}

// A signal as the last write ends stops nothing any more.
func TestASingleRunThatWroteAllWasNotStopped(t *testing.T) {
	t.Parallel()
	for services, want := range map[int]error{1: nil, 20: context.Canceled} {
		bubble.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.pool("blue", "10.0.0.1")
			texts := []string{poolOf("blue", "10.0.0.0/24")}
			for i := range services {
				name := fmt.Sprintf("shop/web-%d", i)
				texts = append(texts, bindingOf(name, "blue", "ports: [{port: 80}]"))
				w.service(name, "http:80")
			}
			w.documents(texts...)
			ctx, stop := context.WithCancel(t.Context())
			options := w.options()
			options.Hub = stopHub{worldHub{w}, stop}
			server, err := controller.New(options)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := server.Once(ctx, func(string, int, int) {}); !errors.Is(err, want) {
				t.Errorf("%d Services, %d written: got %v, want %v", services, len(w.writes), err, want)
			}
		})
	}
}

// scriptHub is a cluster of which the writes of each slice go as a script says, which counts
// them from 1 on.
type scriptHub struct {
	worldHub
	tries map[string]int
	write func(slice string, try int, write func() (string, error)) (string, error)
}

type scriptedStore struct {
	controller.Store
	scriptHub
}

func (s scriptHub) Open(of publish.Target) (controller.Store, error) {
	store, err := s.worldHub.Open(of)
	return scriptedStore{store, s}, err
}

func (s scriptedStore) Load(ctx context.Context) (publish.State, error) { return s.Store.Load(ctx) }
func (s scriptedStore) Write(ctx context.Context, w publish.Write) (string, error) {
	var try int
	s.locked(func() {
		s.tries[w.Slice.Name]++
		try = s.tries[w.Slice.Name]
	})
	return s.scriptHub.write(w.Slice.Name, try, func() (string, error) { return s.Store.Write(ctx, w) })
}

// scriptedOnce lets a single run fill a Service with a slice for each of three endpoints.
func scriptedOnce(t *testing.T, write func(string, int, func() (string, error)) (string, error)) (*controller.AssessedFill, map[string]int) {
	t.Helper()
	w, tries := newWorld(t), map[string]int{}
	w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3")
	w.documents(poolOf("blue", "10.0.0.0/24"), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
	w.service("shop/web", "http:80")
	options := w.options()
	options.Hub, options.MaxEndpoints = scriptHub{worldHub{w}, tries, write}, 1
	server, err := controller.New(options)
	if err != nil {
		t.Fatal(err)
	}
	a, err := server.Once(t.Context(), func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return a.Assessed[0].Fills[0], tries
}

func TestASingleRunCountsWhatLandedOverAllItsTries(t *testing.T) {
	t.Parallel()
	forbidden := errors.New("forbidden")
	for name, test := range map[string]struct {
		fails, tries int
		err          error
		landed       int
		want         error
	}{
		"nothing fails":                  {0, 1, nil, 3, nil},
		"one conflicts once":             {1, 2, publish.ErrConflict, 3, nil},
		"one may not be written":         {9, 1, forbidden, 2, forbidden},
		"one conflicts at each attempt":  {9, controller.Tries, publish.ErrConflict, 2, publish.ErrConflict},
		"one gets no answer":             {1, 2, context.DeadlineExceeded, 3, nil},
		"one gets no answer at any time": {9, controller.Tries, context.DeadlineExceeded, 2, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				f, tries := scriptedOnce(t, func(slice string, try int, write func() (string, error)) (string, error) {
					if slice == "web.blue.2" && try <= test.fails {
						return "", test.err
					}
					return write()
				})
				want := map[string]int{"web.blue": 1, "web.blue.2": test.tries, "web.blue.3": 1}
				if f.Landed() != test.landed || !maps.Equal(tries, want) || len(f.Results) != 2+test.tries || !errors.Is(f.StoreErr, test.want) {
					t.Errorf("got %d that landed of writes %v, %d results and %v; want %d of %v and %v", f.Landed(), tries, len(f.Results), f.StoreErr, test.landed, want, test.want)
				}
			})
		})
	}
}

func TestASingleRunReadsAgainWhereTheAnswerToAWriteWasLost(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f, tries := scriptedOnce(t, func(slice string, _ int, write func() (string, error)) (string, error) {
			version, err := write()
			if slice == "web.blue.2" && err == nil {
				return "", context.DeadlineExceeded
			}
			return version, err
		})
		if tries["web.blue.2"] != 1 || f.StoreErr != nil || f.Landed() != 3 {
			t.Errorf("got writes %v and %v, want one of each slice", tries, f.StoreErr)
		}
	})
}

func TestASingleRunEndsWhereWhatItWritesIsNotStored(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f, tries := scriptedOnce(t, func(slice string, _ int, write func() (string, error)) (string, error) {
			if slice == "web.blue.2" {
				return "", nil
			}
			return write()
		})
		if tries["web.blue.2"] != controller.Tries || f.StoreErr == nil {
			t.Errorf("got writes %v and %v, want %d of the slice and an error", tries, f.StoreErr, controller.Tries)
		}
	})
}
