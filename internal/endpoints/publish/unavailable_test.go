package publish_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

func TestAnErrorThatSaysUnavailableKeepsItsTextItsCauseAndTheServersPause(t *testing.T) {
	for _, pause := range []time.Duration{0, 7 * time.Second} {
		err := fmt.Errorf("update slice web-remote: %w", publish.Unavailable(fmt.Errorf("put: %w", io.EOF), pause))
		if !errors.Is(err, publish.ErrUnavailable) || !errors.Is(err, io.EOF) || errors.Is(err, publish.ErrConflict) {
			t.Errorf("got %#v, want one that is unavailable and EOF, and no conflict", err)
		}
		if got, want := err.Error(), "update slice web-remote: put: EOF"; got != want {
			t.Errorf("got text %q, want %q", got, want)
		}
		if transport.RetryAfterOf(err) != pause {
			t.Errorf("the error does not say %s", pause)
		}
	}
}
