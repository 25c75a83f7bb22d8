package controller_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// searchedHub is a hub that cannot look through the whole cluster.
type searchedHub struct {
	worldHub
	err *error
}

func (h searchedHub) Find(ctx context.Context) ([]string, error) {
	h.mu.Lock()
	err := *h.err
	h.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return h.worldHub.Find(ctx)
}

// TestContract76ThatSlicesCannotBeLookedForIsTold: nothing begins before that, where a kind is missing.
func TestContract76ThatSlicesCannotBeLookedForIsTold(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/asks", "http:8080")
		w.annotate("shop/asks", "red")
		w.documents(pools)
		w.locked(func() { w.set.Missing = []string{v1alpha1.KindEndpointBinding} })
		var log bytes.Buffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		options, away := w.options(), errors.New("the API server is away")
		options.Hub = searchedHub{worldHub{w}, &away}
		stop := runWith(t, options)
		during(time.Minute)
		const holds, over = "cannot be looked for", "were looked for"
		if got := log.String(); strings.Count(got, holds) != 1 || !strings.Contains(got, away.Error()) || len(w.usable("shop/asks")) > 0 {
			t.Errorf("got %s and %s, want that it is told once and nothing begins", got, w.shown())
		}
		w.locked(func() { away = nil })
		during(time.Minute)
		stop()
		if got := log.String(); strings.Count(got, over) != 1 || strings.Contains(got, "what=search") || len(w.usable("shop/asks")) != 2 {
			t.Errorf("got %s and %s, want that the end is told once and the Service is filled", got, w.shown())
		}
	})
}
