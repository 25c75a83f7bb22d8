package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// refusedHub may watch nothing in one namespace until it is granted.
type refusedHub struct {
	controller.Hub
	namespace string
	granted   *atomic.Bool
}

func (h refusedHub) Local() assign.Local {
	out := h.Hub.Local()
	if h.granted.Load() {
		return out
	}
	out.Services = slices.DeleteFunc(out.Services, func(s assign.Service) bool { return s.Namespace == h.namespace })
	out.Published = slices.DeleteFunc(out.Published, func(p assign.PublishedSlice) bool { return p.Namespace == h.namespace })
	for i := range out.Sights {
		if out.Sights[i].Namespace == h.namespace {
			out.Sights[i] = assign.Sight{Namespace: h.namespace, Err: errors.New("forbidden")}
		}
	}
	return out
}

// countedBegins counts how often checks were begun.
func countedBegins(options controller.Options, begun *atomic.Int64) controller.Options {
	checking := options.Checking
	options.Checking = func(p *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
		begun.Add(1)
		return checking(p, check)
	}
	return options
}

// TestContract226AServiceThatComesLaterLosesNothingThatItsPoolDoesNotKnow: after a restart nothing of
// a namespace may be watched for a while, and another Service has begun the checks of the pool.
func TestContract226AServiceThatComesLaterLosesNothingThatItsPoolDoesNotKnow(t *testing.T) {
	t.Parallel()
	for name, listed := range map[string][]string{"the source lists others": {"10.0.0.3"}, "the source lists nothing": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w, pools := blueAndRed(t)
				w.service("shop/web", "http:8080")
				w.service("blog/new", "http:8080")
				w.documents(pools, bindingOf("shop/web", "blue"))
				w.start()
				during(time.Minute)
				w.stop()
				w.pool("blue", listed...)
				w.documents(pools, bindingOf("shop/web", "blue"), bindingOf("blog/new", "blue"))
				granted, begun := new(atomic.Bool), new(atomic.Int64)
				options := countedBegins(w.options(), begun)
				options.Hub = refusedHub{options.Hub, "shop", granted}
				defer runWith(t, options)()
				during(20 * time.Second)
				granted.Store(true)
				w.locked(w.tell)
				if empty := w.emptyFor("shop/web", 2*time.Minute); empty > 0 {
					t.Errorf("the Service had no endpoint for %s", empty)
				}
				if got := w.usable("shop/web"); !slices.Contains(got, "10.0.0.1:8080") || !slices.Contains(got, "10.0.0.2:8080") {
					t.Errorf("got %v, want what its slices had, of which a rejected inventory takes nothing away", got)
				}
				w.locked(func() { w.dead["10.0.0.1"] = true })
				during(20 * time.Second)
				if got := w.usable("shop/web"); slices.Contains(got, "10.0.0.1:8080") || begun.Load() != 2 {
					t.Errorf("got %v after %d begins, want it judged by checks that began anew once", got, begun.Load())
				}
			})
		})
	}
}

// adopted makes slices that a Service is to give to a pool.
func (w *world) adopted(key string, addresses ...string) {
	namespace, service, _ := strings.Cut(key, "/")
	w.locked(func() {
		w.slices[key+"-remote"] = storedSlice{publish.Slice{
			Name: service + "-remote", Version: "1", Owner: w.services[key].UID, Family: publish.IPv4, Endpoints: endpoints(addresses...),
			Ports: []publish.Port{{Name: "http", Number: 8080, Protocol: publish.TCP}}, Changed: time.Now(),
		}, namespace, service, "blue"}
		w.tell()
	})
}

// TestContract226SlicesThatComeToARunningPoolLoseNothingAtOnce: what they have is judged as after a start,
// also where the inventory of the pool is too short by mistake.
func TestContract226SlicesThatComeToARunningPoolLoseNothingAtOnce(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3")
		w.service("shop/two", "http:8080")
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/two", "blue"))
		w.start()
		during(time.Minute)
		var ten []string
		for i := range 10 {
			ten = append(ten, fmt.Sprintf("10.0.0.%d", i+1))
		}
		w.adopted("shop/web", ten...)
		w.documents(pools, bindingOf("shop/two", "blue"), bindingOf("shop/web", "blue", "adopt: web-remote"))
		for range 60 {
			during(time.Second)
			if got := w.usable("shop/web"); len(got) != len(ten) {
				t.Errorf("got %v, want all ten", got)
				break
			}
		}
		if !w.quiet() {
			t.Error("the program finds no rest")
		}
		w.stop()
	})
}

// TestContract226WhoBringsUnknownEndpointsAgainAndAgainHoldsNoOtherUp: checks that begin anew forget
// how often they failed.
func TestContract226WhoBringsUnknownEndpointsAgainAndAgainHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		begun := new(atomic.Int64)
		defer runWith(t, countedBegins(w.options(), begun))()
		during(time.Minute)
		w.locked(func() { w.dead["10.0.0.2"] = true })
		all := []string{pools, bindingOf("shop/web", "blue")}
		for i := range 40 {
			service := fmt.Sprintf("blog/s%d", i)
			w.service(service, "http:8080")
			w.adopted(service, fmt.Sprintf("10.0.0.%d", 100+i))
			all = append(all, bindingOf(service, "blue", fmt.Sprintf("adopt: s%d-remote", i)))
			w.documents(all...)
			during(time.Second)
		}
		if got := w.usable("shop/web"); slices.Contains(got, "10.0.0.2:8080") || begun.Load() > 4 {
			t.Errorf("got %v after %d begins, want what is dead gone", got, begun.Load())
		}
		during(time.Minute)
		for i := range 40 {
			if got := w.in(fmt.Sprintf("blog/s%d-remote", i)); !slices.Contains(got, fmt.Sprintf("10.0.0.%d=%s", 100+i, inventory.StateReady)) {
				t.Errorf("got %v, want what the Service brought", got)
			}
		}
	})
}

// TestContract226ChecksThatBeginAnewKnowWhatTheyDoNotKnow: while the slices of one Service cannot be read, the
// pool is changed, and another Service comes.
func TestContract226ChecksThatBeginAnewKnowWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.service("shop/api", "http:8080")
		w.service("shop/new", "http:8080")
		documents := []string{pools, bindingOf("shop/web", "blue"), bindingOf("shop/api", "blue")}
		w.documents(documents...)
		w.start()
		during(time.Minute)
		w.stop()
		w.locked(func() {
			w.unread = map[string]bool{"shop/web": true}
			for key, s := range w.slices {
				if s.service == "api" {
					s.Endpoints = endpoints("10.0.0.3")
					w.slices[key] = s
				}
			}
		})
		w.pool("blue", "10.0.0.3")
		w.start()
		defer func() { w.stop() }()
		during(20 * time.Second)
		documents[0] = strings.Replace(pools, "  allow:", "  guard: {maxRemovalPercent: 40}\n  allow:", 1)
		w.documents(append(documents, bindingOf("shop/new", "blue"))...)
		during(20 * time.Second)
		w.locked(func() { w.unread = nil })
		during(time.Minute)
		if got := w.usable("shop/web"); !slices.Contains(got, "10.0.0.1:8080") || !slices.Contains(got, "10.0.0.2:8080") {
			t.Errorf("got %v, want what its slices had", got)
		}
	})
}

// TestContract226WhatBeganWithoutASliceReachesItNoMoreWhileItsChecksBeginAnew: what they need is read from a
// file system that hangs, and what ran before goes on deciding.
func TestContract226WhatBeganWithoutASliceReachesItNoMoreWhileItsChecksBeginAnew(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		const groups = 20
		w, pools := blueAndRed(t)
		documents := []string{pools}
		w.pool("blue", "10.0.0.3", "10.0.0.4")
		add := func(service string, i int, more ...string) {
			w.service(service, fmt.Sprintf("http:%d", 8080+i))
			documents = append(documents, bindingOf(service, "blue", more...))
		}
		for i := range groups {
			add(fmt.Sprintf("shop/api%d", i), i)
		}
		w.documents(documents...)
		var hangs atomic.Bool
		options := w.options()
		checking := options.Checking
		options.Checking = func(p *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
			if hangs.Load() {
				time.Sleep(30 * time.Second)
			}
			return checking(p, check)
		}
		defer runWith(t, options)()
		during(time.Minute)
		hangs.Store(true)
		for i := range groups {
			name := fmt.Sprintf("web%d", i)
			add("shop/"+name, i, "adopt: "+name+"-remote")
			w.adopted("shop/"+name, "10.0.0.1", "10.0.0.2", "10.0.0.5", "10.0.0.6")
			w.locked(func() {
				s := w.slices["shop/"+name+"-remote"]
				s.Ports[0].Number = uint16(8080 + i)
			})
			w.documents(documents...)
			for second := range 40 {
				w.locked(func() { w.dead["10.0.0.4"] = second/10%2 == 0 })
				during(time.Second)
			}
		}
		for i := range groups {
			if got := w.in(fmt.Sprintf("shop/web%d-remote", i)); !slices.Contains(got, "10.0.0.1=ready") || !slices.Contains(got, "10.0.0.2=ready") {
				t.Errorf("got %v in web%d, want what it had", got, i)
			}
		}
	})
}

// lateHub has listed nothing at first.
type lateHub struct {
	controller.Hub
	listed *atomic.Bool
}

func (h lateHub) Local() assign.Local {
	out := h.Hub.Local()
	for i := range out.Sights {
		out.Sights[i].Complete = h.listed.Load()
	}
	return out
}

// TestContract76AServiceThatChangesAllTheTimeHoldsUpNoChecks: its slices are read again with each plan, and
// the pool has checked nothing since the start.
func TestContract76AServiceThatChangesAllTheTimeHoldsUpNoChecks(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.service("blog/evil", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"), bindingOf("blog/evil", "blue"))
		w.start()
		during(time.Minute)
		w.stop()
		w.locked(func() { w.dead["10.0.0.1"] = true })
		options, listed := w.options(), new(atomic.Bool)
		options.Hub = lateHub{options.Hub, listed}
		defer runWith(t, options)()
		during(10 * time.Second) // a start that is slow
		listed.Store(true)
		for i := range 600 {
			w.service("blog/evil", fmt.Sprintf("p%d:8080", i))
			during(50 * time.Millisecond)
		}
		if got := w.usable("shop/web"); slices.Contains(got, "10.0.0.1:8080") {
			t.Errorf("got %v after half a minute, want what is dead gone", got)
		}
	})
}
