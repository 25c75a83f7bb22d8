package serve_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
)

// TestContract170ACrowdedNamespaceIsToldAndNothingInItVanishes: the Service of a target
// is one of those that there is no room for. It is told once each time.
func TestContract170ACrowdedNamespaceIsToldAndNothingInItVanishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		var log bytes.Buffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		w.service("shop/web", "http:8080")
		w.service("blog/web", "http:8080")
		w.documents(pools, bindingOf("blog/web", "blue"))
		w.annotate("shop/web", "blue")
		w.start()
		during(time.Minute)
		var left *resolve.Service
		w.locked(func() {
			left = w.services["shop/web"]
			delete(w.services, "shop/web")
			w.crowded = map[string]error{"shop": errors.New("too many words")}
			w.tell()
		})
		during(v1alpha1.DefaultReleaseAfter + time.Hour)
		w.locked(func() { w.services["shop/web"], w.crowded = left, nil })
		if len(w.usable("shop/web")) != 2 || len(w.usable("blog/web")) != 2 {
			t.Errorf("got %v and %v, want that nothing vanished", w.usable("shop/web"), w.usable("blog/web"))
		}
		w.locked(w.tell)
		during(time.Minute)
		w.locked(func() {
			w.crowded = map[string]error{"shop": errors.New("too many words")}
			w.tell()
		})
		during(time.Hour)
		w.stop()
		line := `level=ERROR msg="not all Services of a namespace are known, so none of its Services vanishes" namespace=shop error="too many words"` + "\n"
		if n := strings.Count(log.String(), line); n != 2 {
			t.Errorf("got %d lines %q, want one each time:\n%s", n, line, log.String())
		}
	})
}
