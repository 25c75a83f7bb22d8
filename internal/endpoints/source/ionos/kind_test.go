package ionos_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// Contract 119: an error says whether the credentials are refused, or the answer is not the
// whole.
func TestContract119AnErrorSaysWhatKindItIs(t *testing.T) {
	unauthorized := []string{ionostest.Unauthorized, ionostest.Forbidden}
	incomplete := []string{
		ionostest.NoItems, ionostest.Null, ionostest.Empty, ionostest.Truncated, ionostest.Cut, ionostest.HTML, ionostest.Huge, ionostest.Incomplete, ionostest.Endless,
	}
	for kind, text := range faults() {
		if text == "" || kind == ionostest.Slow || kind == ionostest.SecondPage {
			continue // no error, or one that another covers
		}
		t.Run(kind, func(t *testing.T) {
			c := newCloud(t)
			c.Populate(12)
			source := c.source(t, nil)
			read(t, source)
			c.Break(ionostest.Fault{Kind: kind, On: "/lans/2/nics"})
			err := readError(t, source)
			if got, want := errors.Is(err, inventory.ErrUnauthorized), slices.Contains(unauthorized, kind); got != want {
				t.Errorf("%v: got unauthorized %t, want %t", err, got, want)
			}
			if got, want := errors.Is(err, inventory.ErrIncomplete), slices.Contains(incomplete, kind); got != want {
				t.Errorf("%v: got incomplete %t, want %t", err, got, want)
			}
		})
	}
}
