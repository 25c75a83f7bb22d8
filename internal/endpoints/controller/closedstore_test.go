package controller_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// closedHub opens no store for one Service until it is open.
type closedHub struct {
	controller.Hub
	service string
	open    *atomic.Bool
}

func (h closedHub) Open(of publish.Target) (controller.Store, error) {
	if of.Service == h.service && !h.open.Load() {
		return nil, errors.New("no room")
	}
	return h.Hub.Open(of)
}

// TestContract54AServiceWhoseStoreCannotBeOpenedHoldsUpNoOther, also where both have the same checks.
func TestContract54AServiceWhoseStoreCannotBeOpenedHoldsUpNoOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.documents(poolOf("blue", "10.0.0.0/24"), bindingOf("shop/api", "blue", "ports: [{port: 80}]"), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
		w.service("shop/api", "http:80")
		w.service("shop/web", "http:80")
		w.pool("blue", "10.0.0.1")
		options := w.options()
		options.Hub = closedHub{options.Hub, "api", new(atomic.Bool)}
		defer runWith(t, options)()
		during(time.Minute)
		if got := w.usable("shop/web"); !slices.Equal(got, []string{"10.0.0.1:80"}) {
			t.Errorf("got %v, want the Service filled beside one that cannot be", got)
		}
	})
}

// TestContract226NothingIsJudgedBeforeItsStoreWasOpened: after a restart the store of a Service cannot
// be opened for a while, and the inventory lists nothing of what its slices publish. A group that
// began without that would take it away.
func TestContract226NothingIsJudgedBeforeItsStoreWasOpened(t *testing.T) {
	for name, others := range map[string][]string{"of one Service": nil, "beside another one": {bindingOf("shop/api", "blue")}} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w, pools := blueAndRed(t)
				w.service("shop/web", "http:8080")
				w.service("shop/api", "http:8080")
				w.documents(pools, bindingOf("shop/web", "blue"))
				w.start()
				during(time.Minute)
				w.stop()
				w.pool("blue", "10.0.0.3")
				w.documents(append(others, pools, bindingOf("shop/web", "blue"))...)
				options, open := w.options(), new(atomic.Bool)
				options.Hub = closedHub{options.Hub, "web", open}
				defer runWith(t, options)()
				during(20 * time.Second)
				open.Store(true)
				if empty := w.emptyFor("shop/web", 2*time.Minute); empty > 0 {
					t.Errorf("the Service had no endpoint for %s", empty)
				}
				if got := w.usable("shop/web"); !slices.Contains(got, "10.0.0.1:8080") || !slices.Contains(got, "10.0.0.2:8080") {
					t.Errorf("got %v, want what its slices had, of which a rejected inventory takes nothing away", got)
				}
			})
		})
	}
}
