package stream_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
)

func TestAReplicaIsReadyAfterTheFirstJoinOnceItListensEverywhere(t *testing.T) {
	views := cache.New(1)
	closed := errors.New("xDS does not listen yet")
	opens := func() error { return closed }
	handler := stream.Health(views, func() error { return nil }, func() error { return opens() }, http.NotFoundHandler())
	readyz := func() (int, string) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return answer.Code, answer.Body.String()
	}
	if code, text := readyz(); code != http.StatusServiceUnavailable || !strings.Contains(text, "join failed") {
		t.Errorf("before the first join: got %d %q", code, text)
	}
	for _, kind := range []cache.Kind{cache.Services, cache.Slices} {
		if err := views.Replace(0, kind, nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	if code, text := readyz(); code != http.StatusServiceUnavailable || !strings.Contains(text, closed.Error()) {
		t.Errorf("before xDS listens: got %d %q", code, text)
	}
	closed = nil
	if code, text := readyz(); code != http.StatusOK {
		t.Errorf("got %d %q, want 200", code, text)
	}
}
