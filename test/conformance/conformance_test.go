//go:build lab

package conformance_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
)

// How many requests are a round: few show when a consumer has caught up with the
// slices; of many, a backend with a fair share is missed once in 10^15 rounds.
// Where no endpoint answers, every request must fail, and fewer do: the kernel sends
// few refusals a second, and a connection that misses its refusal tries again.
const (
	few, many               = 60, 240
	fewRefused, manyRefused = 5, 40
)

// asker is a consumer with a way to ask through it.
type asker interface {
	ask(t *testing.T, x *target, family string, n int) answers
}

func TestConsumersRouteToWhatTheContractPromises(t *testing.T) {
	started := time.Now()
	w := newWorld(t)
	askers := map[string]asker{
		nftables: startProxy(t, w, kubeproxy.NFTables, 1),
		iptables: startProxy(t, w, kubeproxy.IPTables, 2),
		coreDNS:  startCoreDNS(t, w),
		traefik:  startTraefik(t, w),
	}
	var targets []*target
	for _, s := range scenarios {
		targets = append(targets, w.newTarget(t, s))
	}
	for _, x := range targets {
		x.begin(t, askers)
	}
	for _, x := range targets {
		if time.Since(started) > bound {
			t.Fatalf("not all was asked within %s", bound)
		}
		t.Run(x.name, func(t *testing.T) {
			x.awaitSlices(t)
			if !x.allFail && x.outcome == nil { // else it is not known when the last write is made
				x.settled = x.generations(t)
			}
			for _, consumer := range consumers {
				t.Run(consumer, func(t *testing.T) { x.check(t, consumer, askers[consumer], x.answering(consumer)) })
			}
		})
	}
	for _, x := range targets {
		if got := x.generations(t); x.settled != nil && !maps.Equal(got, x.settled) {
			t.Errorf("contract 22: the slices of %s were written although their states were reached: generations %v, now %v", x.name, x.settled, got)
		}
	}
	if !t.Failed() {
		checkTable(t)
	}
}

// check waits until a consumer has caught up, and then holds it to it.
func (x *target) check(t *testing.T, consumer string, a asker, endpoints []int) {
	t.Helper()
	for _, family := range x.families(consumer) {
		want := x.addresses(endpoints, family)
		x.awaitAnswers(t, consumer, a, endpoints, family)
		second := many
		if len(want) == 0 {
			second = manyRefused
		}
		if err := a.ask(t, x, family, second).judge(want, refusal[consumer]); err != nil {
			t.Errorf("%s: %v", family, err)
		}
	}
}

// awaitAnswers waits until a consumer has caught up.
func (x *target) awaitAnswers(t *testing.T, consumer string, a asker, endpoints []int, family string) {
	t.Helper()
	want, n := x.addresses(endpoints, family), few
	if len(want) == 0 {
		n = fewRefused
	}
	var wrong error
	until(t, func() string { return fmt.Sprintf("%s, %s: %v", consumer, family, wrong) }, func() bool {
		wrong = a.ask(t, x, family, n).judge(want, refusal[consumer])
		return wrong == nil
	})
}

// families are the address families to ask a consumer for, one after the other.
// Traefik cannot be asked for one.
func (x *target) families(consumer string) []string {
	switch {
	case consumer == traefik:
		return []string{"ip"}
	case x.bothFamilies:
		return []string{"ip4", "ip6"}
	default:
		return []string{"ip4"}
	}
}

// answering are the numbers of the endpoints that must answer a consumer.
func (x *target) answering(consumer string) []int { return x.in(x.answers(consumer)) }

// addresses are those of some endpoints in a family.
func (x *target) addresses(endpoints []int, family string) []string {
	found := []string{}
	for _, i := range endpoints {
		for _, a := range x.members[i].addresses {
			if family == "ip" || a.Is4() == (family == "ip4") {
				found = append(found, a.String())
			}
		}
	}
	return found
}
