package stream

import (
	"fmt"
	"net/http"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
)

// Health answers /livez, /readyz and /metrics. Readiness needs the first join, and that
// every listener is open, which opens says; nothing else: an API server that is away must
// not take the clients away.
func Health(views *cache.Cache, trouble, opens func() error, scrape http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		views.Count() // it hangs where the cache does
		fmt.Fprint(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		text := ""
		if err := opens(); err != nil {
			text = "[-]listen failed: " + err.Error()
		}
		if !views.Synced() {
			text = "[-]join failed: not every watch has brought a complete list yet"
			if err := trouble(); err != nil {
				text += ": " + err.Error()
			}
		}
		if text == "" {
			fmt.Fprint(w, "ok")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, text)
	})
	mux.Handle("GET /metrics", scrape)
	return mux
}
