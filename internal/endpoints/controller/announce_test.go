package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// Contract 73: what happens to a pool is announced at its Services, of every team's first
// one, and of no more than 50 at once.
func TestContract73APoolIsAnnouncedAtAFewOfItsServices(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		g := assign.Group{Pool: "blue"}
		var plan assign.Plan
		uids := make(map[assign.Key]string)
		add := func(namespace, service string, of assign.Group, dryRun bool) {
			key := assign.Key{Namespace: namespace, Service: service}
			uids[key] = "uid of " + key.String()
			plan.Targets = append(plan.Targets, assign.Assignment{Key: key, DryRun: dryRun, Uses: []assign.PoolUse{{Use: assign.Use{Group: of}, State: assign.Active}}})
		}
		for i := range 1000 {
			add("crowd", fmt.Sprintf("web-%03d", i), g, false)
		}
		add("late", "web", g, false)
		add("late", "dry", g, true)
		add("other", "web", assign.Group{Pool: "green"}, false)

		var got []string
		var notes []string
		a := controller.NewAudience(func(key assign.Key, n explain.Notice) {
			got, notes = append(got, key.String()), append(notes, n.Note)
			if n.Service != uids[key] {
				t.Errorf("%s: got UID %q", key, n.Service)
			}
		})
		tell := func(notices ...explain.Notice) {
			got, notes = nil, nil
			a.Tell(g, notices, time.Now())
		}
		a.Planned(plan, uids)

		tell(explain.Notice{Reason: explain.SourceUnavailable, Note: "GET https://api.example.org/datacenters/7: 401"})
		if len(got) != 50 || got[0] != "crowd/web-000" || got[1] != "late/web" || got[2] != "crowd/web-001" {
			t.Errorf("got %d: %v, want 50, and the first of each namespace first", len(got), got[:min(3, len(got))])
		}
		for _, note := range notes {
			if !strings.HasPrefix(note, "pool blue: ") || strings.Contains(note, "datacenters") {
				t.Fatalf("got note %q, want the name of the pool, and nothing of its source", note)
			}
		}
		tell(explain.Notice{Reason: explain.SourceUnavailable})
		if len(got) != 1 || got[0] != "crowd/web-000" { // contract 16: each change makes an Event
			t.Errorf("got %v more at once, want the first Service alone", got)
		}
		tell(explain.Notice{Reason: explain.RemovalHeld, Note: "set EMPTY_RESULT_THRESHOLD=0"})
		if len(got) != 50 || notes[0] != "pool blue: set EndpointPool blue spec.guard.emptyResultThreshold=0" {
			t.Errorf("got %d of another reason, %q", len(got), notes[:min(1, len(notes))])
		}
		time.Sleep(20 * time.Second)
		tell(explain.Notice{Reason: explain.SourceUnavailable})
		if len(got) != 2 {
			t.Errorf("got %d after 20 s, want 2", len(got))
		}
	})
}

// Contract 117: the Event at each Service names who decided there, also where Services share
// a check.
func TestContract117AnEventNamesWhoDecidedAtItsService(t *testing.T) {
	t.Parallel()
	g := assign.Group{Pool: "blue"}
	var plan assign.Plan
	for service, by := range map[string]naming.Kind{"shared": naming.Pool, "annotated": naming.Service, "bound": naming.Binding} {
		use := assign.Use{Group: g, By: naming.Service, CheckBy: by}
		plan.Targets = append(plan.Targets, assign.Assignment{Key: assign.Key{Namespace: "shop", Service: service}, Uses: []assign.PoolUse{{Use: use, State: assign.Active}}})
	}
	got := make(map[string]string)
	a := controller.NewAudience(func(key assign.Key, n explain.Notice) { got[key.Service] = n.Note })
	a.Planned(plan, nil)
	a.Tell(g, []explain.Notice{{Reason: explain.RemovalAccepted, Note: "HEALTH_CHECK_MODE=off"}}, time.Now())
	want := map[string]string{
		"shared":    "pool blue: EndpointPool blue spec.healthCheck.mode=None",
		"annotated": "pool blue: Service shop/annotated endpoints.ablmnzde.github.io/health-check-mode=None",
		"bound":     "pool blue: EndpointBinding shop/bound spec.healthCheck.mode=None",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
