package xds

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// TestContract68AnAnswerThatWaitsKeepsNoNamesThatTheClientNeverHad: as many answers as a client
// may leave without a word, each about as many names that do not exist as it may ask for.
func TestContract68AnAnswerThatWaitsKeepsNoNamesThatTheClientNeverHad(t *testing.T) {
	names := make([]string, mostNames)
	for n := range names {
		names[n] = fmt.Sprintf("none-%d.shop:80", n)
	}
	p := begun(map[string]string{"web.shop:80": "1"}, nil, time.Now())
	before := memory.Live()
	for range mostPending {
		a := answer{removed: names}
		p.drop(&a)
		p.send(a, time.Now())
	}
	if after := memory.Live(); len(p.pending) != mostPending || after > before+8<<20 {
		t.Errorf("the heap grew from %d to %d MiB for %d answers", before, after, len(p.pending))
	}

	a := answer{removed: append([]string{"web.shop:80"}, names...)}
	p.drop(&a)
	if len(a.removed) != 1 || len(names) != mostNames || names[0] != "none-0.shop:80" {
		t.Errorf("got %d names that are gone, want the one that the client has", len(a.removed))
	}
}
