package controller_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// closedHub opens no store for one Service.
type closedHub struct {
	controller.Hub
	service string
}

func (h closedHub) Open(of publish.Target) (controller.Store, error) {
	if of.Service == h.service {
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
		options.Hub = closedHub{options.Hub, "api"}
		defer runWith(t, options)()
		during(time.Minute)
		if got := w.usable("shop/web"); !slices.Equal(got, []string{"10.0.0.1:80"}) {
			t.Errorf("got %v, want the Service filled beside one that cannot be", got)
		}
	})
}
