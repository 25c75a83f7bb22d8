package page_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// everything lists all that is served.
func (w *world) everything() map[string]string {
	return map[string]string{
		"/": w.admin, "/style.css": w.admin, "/api/v1/services/default/web": w.admin, "/configz": w.admin,
		"/livez": w.metrics, "/readyz": w.metrics, "/metrics": w.metrics,
	}
}

func TestGetAndHeadAreAnsweredAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, address := range w.everything() {
		got := w.ask(http.MethodGet, address, path)
		if got.code != http.StatusOK || got.body == "" {
			t.Errorf("GET %s: got %d and %d bytes, want 200 and some", path, got.code, len(got.body))
		}
		if head := w.ask(http.MethodHead, address, path); head.code != http.StatusOK || head.body != "" || head.header.Get("Content-Type") != got.header.Get("Content-Type") {
			t.Errorf("HEAD %s: got %d, %q, %q, want what GET says without the body", path, head.code, head.header.Get("Content-Type"), head.body)
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodTrace, "PROPFIND"} {
			if got := w.ask(method, address, path); got.code != http.StatusMethodNotAllowed || got.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: got %d, Allow %q, want 405 and GET, HEAD", method, path, got.code, got.header.Get("Allow"))
			}
		}
	}
}

func TestUnknownPathsAreNotFoundAndListenersKeepApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, address := range map[string]string{
		"/favicon.png": w.admin, "/api": w.admin, "/api/v1/services/default/web/x": w.admin, "/debug/pprof/": w.admin, "/.env": w.admin,
		"/metrics": w.admin, "/livez": w.admin, "/readyz": w.admin,
		"/": w.metrics, "/api/v1/services/default/web": w.metrics, "/configz": w.metrics, "/livez/loop": w.metrics, "/api/v1/leader": w.admin,
	} {
		if got := w.ask(http.MethodGet, address, path); got.code != http.StatusNotFound {
			t.Errorf("%s at %s: got %d, want 404", path, address, got.code)
		}
	}
	if got := w.ask(http.MethodGet, w.admin, "/favicon.ico"); got.code != http.StatusNoContent {
		t.Errorf("/favicon.ico: got %d, want 204: a browser's console would show another", got.code)
	}
}

func TestEveryAnswerTellsTheBrowserToBeStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := map[string]string{
		"Content-Security-Policy":      "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cache-Control":                "no-store",
		"Cross-Origin-Resource-Policy": "same-origin",
	}
	paths := w.everything()
	paths["/nowhere"], paths["/?state=x"] = w.admin, w.admin
	for path, address := range paths {
		got := w.ask(http.MethodGet, address, path)
		for name, value := range want {
			if got.header.Get(name) != value {
				t.Errorf("%s: got %s: %q, want %q", path, name, got.header.Get(name), value)
			}
		}
	}
	types := map[string]string{
		"/": "text/html; charset=utf-8", "/style.css": "text/css; charset=utf-8", "/api/v1/services/default/web": "application/json",
		"/configz": "text/plain; charset=utf-8", "/livez": "text/plain; charset=utf-8",
	}
	for path, kind := range types {
		if got := w.ask(http.MethodGet, w.everything()[path], path).header.Get("Content-Type"); got != kind {
			t.Errorf("%s: got Content-Type %q, want %q", path, got, kind)
		}
	}
}

// A web page open in a browser on this machine can resolve its own name to 127.0.0.1.
// The browser would then let the page read the admin surface.
func TestOnALoopbackAddressOnlyLocalNamesAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "localhost": 200, "LOCALHOST:8080": 200, "[::1]:8080": 200, "[::1]": 200, "10.0.0.1": 200,
		"evil.example": 421, "evil.example:8080": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421,
	} {
		for path, address := range map[string]string{"/": w.admin, "/livez": w.metrics} {
			if got := w.ask(http.MethodGet, address, path, [2]string{"Host", host}); got.code != want {
				t.Errorf("%s with Host %s: got %d, want %d", path, host, got.code, want)
			}
		}
	}
	open := newWorld(t, func(o *page.Options) { o.Admin = netipAny() })
	_, port, _ := strings.Cut(open.admin[strings.LastIndex(open.admin, ":"):], ":")
	if got := open.ask(http.MethodGet, "127.0.0.1:"+port, "/", [2]string{"Host", "status.example"}); got.code != http.StatusOK {
		t.Errorf("on every address: got %d, want 200 whatever name it is published under", got.code)
	}
}

func TestTheJSONIsTheDocumentAndCompact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.ask(http.MethodGet, w.admin, "/api/v1/services/default/web")
	var doc report.Document
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Summary != w.doc.Summary || len(doc.Nodes) != 3 || doc.Nodes[1].Reason != "ProbeRefused" || strings.Contains(got.body, "\n ") {
		t.Errorf("got %s", got.body)
	}
}

func TestTheConfigurationIsTextOrJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, asJSON := "[TARGET_PORT=8080]\n", "[\n  \"TARGET_PORT=8080\"\n]\n"
	for query, want := range map[string]string{"": text, "?format=text": text, "?format=json": asJSON, "?format=": text} {
		if got := w.ask(http.MethodGet, w.admin, "/configz"+query); got.code != http.StatusOK || got.body != want {
			t.Errorf("%q: got %d %q, want %q", query, got.code, got.body, want)
		}
	}
	if got := w.ask(http.MethodGet, w.admin, "/configz", [2]string{"Accept", "application/json"}); got.body != asJSON {
		t.Errorf("Accept: application/json: got %q", got.body)
	}
	if got := w.ask(http.MethodGet, w.admin, "/configz?format=xml"); got.code != http.StatusBadRequest || !strings.Contains(got.body, "json or text") {
		t.Errorf("format=xml: got %d %q, want 400 and what to write", got.code, got.body)
	}
}
