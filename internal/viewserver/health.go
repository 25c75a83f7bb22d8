package viewserver

import (
	"fmt"
	"net/http"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/viewcache"
)

// Health answers /livez, /readyz and /metrics. Readiness needs the first join and
// nothing else: an API server that is away must not take the clients away.
func Health(cache *viewcache.Cache, trouble func() error, scrape http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		cache.Count() // it hangs where the cache does
		fmt.Fprint(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if cache.Synced() {
			fmt.Fprint(w, "ok")
			return
		}
		text := "[-]join failed: not every watch has brought a complete list yet"
		if err := trouble(); err != nil {
			text += ": " + err.Error()
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, text)
	})
	mux.Handle("GET /metrics", scrape)
	return mux
}
