package controller_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// reads is a checker that knows what is wrong with its file since it read it last, which it does for
// each check.
type reads struct {
	worldProber
	last atomic.Pointer[error]
}

func (r *reads) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	r.locked(func() { r.last.Store(&r.world.trouble) })
	return r.worldProber.Check(ctx, addr)
}

func (r *reads) trouble() error {
	if last := r.last.Load(); last != nil {
		return *last
	}
	return nil
}

// TestContract181WhatIsWrongWithSharedChecksIsTold: checks that begin anew, and those of another pool,
// share those that are made already, and these read the file.
func TestContract181WhatIsWrongWithSharedChecksIsTold(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.service("shop/api", "http:8080")
		bindings := []string{bindingOf("shop/web", "blue"), bindingOf("shop/api", "red")}
		w.documents(append(bindings, pools)...)
		var log bytes.Buffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		options := w.options()
		checking := options.Checking
		options.Checking = func(p *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
			out, err := checking(p, check)
			r := &reads{worldProber: worldProber{w, check}}
			out.Prober, out.Trouble = r, r.trouble
			return out, err
		}
		end := runWith(t, options)
		during(time.Minute)
		w.documents(append(bindings, strings.Replace(pools, "  allow:", "  guard: {maxRemovalPercent: 40}\n  allow:", 1))...)
		during(time.Minute)
		w.locked(func() { w.trouble = errors.New("ca.crt cannot be read") })
		during(time.Minute)
		end()
		for _, pool := range []string{"blue", "red"} {
			if n := strings.Count(log.String(), "the endpoints cannot be checked as the document says, they stay as they are\" pool="+pool); n != 1 {
				t.Errorf("told %d times of %s, want once: %s", n, pool, log.String())
			}
		}
	})
}
