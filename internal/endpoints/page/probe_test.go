package page_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestContract31TheProbesAnswerInKubernetesForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expect := func(path string, code int, body string) {
		t.Helper()
		if got := w.ask(http.MethodGet, w.metrics, path); got.code != code || got.body != body {
			t.Errorf("%s: got %d %q, want %d %q", path, got.code, got.body, code, body)
		}
	}
	expect("/livez", 200, "ok")
	expect("/readyz", 200, "ok")
	expect("/livez?verbose", 200, "[+]loop ok\nlivez check passed\n")
	expect("/readyz?verbose=1", 200, "[+]decision ok\nreadyz check passed\n")

	w.set(func() { w.ready = errors.New("no decision has been made yet") })
	expect("/readyz", 503, "[-]decision failed: no decision has been made yet\nreadyz check failed\n")
	expect("/livez", 200, "ok")

	w.set(func() { w.ready, w.live = nil, errors.New("it stands still") })
	expect("/livez?verbose", 503, "[-]loop failed: it stands still\nlivez check failed\n")
	expect("/readyz", 200, "ok")
	if got := w.page(""); !strings.Contains(got.body, "The program stands still") || !strings.Contains(got.body, "loop: it stands still") {
		t.Error("the page does not say that the program stands still")
	}
	w.set(func() { w.live = nil })
	expect("/livez", 200, "ok")
}
