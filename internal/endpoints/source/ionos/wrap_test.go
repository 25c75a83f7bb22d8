package ionos_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
)

// tally counts the requests that go through it.
type tally struct {
	http.RoundTripper

	requests *atomic.Int64
}

func (t tally) RoundTrip(request *http.Request) (*http.Response, error) {
	t.requests.Add(1)
	return t.RoundTripper.RoundTrip(request)
}

func TestEveryRequestToTheCloudIsSeen(t *testing.T) {
	c := newCloud(t)
	c.Populate(3)
	var seen atomic.Int64
	options := c.options()
	options.Wrap = func(inner http.RoundTripper) http.RoundTripper { return tally{inner, &seen} }
	source, err := ionos.New(options)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := source.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := seen.Load(); got < 3 || got != int64(c.Counts().Requests) {
		t.Errorf("got %d requests seen, want the %d that arrived", got, c.Counts().Requests)
	}
}
