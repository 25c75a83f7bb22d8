package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// part is a source, a prober and a store that answer what the test sets.
type part struct {
	nodes   []inventory.Node
	state   publish.State
	result  inventory.Result
	version string
	err     error
	// asked is what the last call was about.
	asked any
}

func (p *part) Read(context.Context) ([]inventory.Node, error) { return p.nodes, p.err }

func (p *part) Load(context.Context) (publish.State, error) { return p.state, p.err }

func (p *part) Write(_ context.Context, w publish.Write) (string, error) {
	p.asked = w
	return p.version, p.err
}

func (p *part) Check(_ context.Context, addr netip.Addr) inventory.Result {
	p.asked = addr
	return p.result
}

// newMetrics makes metrics and returns what they show.
func newMetrics(t testing.TB) (*metrics.Metrics, func() map[string]float64) {
	t.Helper()
	c := newCrowd(t, "blue")
	c.fills("shop/web", use(group("blue", 80), assign.Active))
	c.planned(documents.Set{})
	return c.metrics, c.gather
}

func TestWhatIsWrappedAnswersAsBefore(t *testing.T) {
	m, _ := newMetrics(t)
	addr := netip.MustParseAddr("10.0.0.1")
	p := &part{
		nodes: []inventory.Node{node("a", "10.0.0.1")}, state: publish.State{Service: publish.Service{UID: "u"}},
		result: inventory.Result{Address: addr, Outcome: inventory.Silent, Message: "no answer", Latency: time.Second}, version: "8",
	}
	byAddress := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	nodes, err := m.Source("file", p).Read(t.Context())
	if diff := cmp.Diff(p.nodes, nodes, byAddress); diff != "" || err != nil {
		t.Errorf("read (-want +got, error %v):\n%s", err, diff)
	}
	state, err := m.Store(p).Load(t.Context())
	if diff := cmp.Diff(p.state, state, byAddress); diff != "" || err != nil {
		t.Errorf("load (-want +got, error %v):\n%s", err, diff)
	}
	if diff := cmp.Diff(p.result, m.Prober("blue", p).Check(t.Context(), addr), byAddress); diff != "" || p.asked != addr {
		t.Errorf("check of %v (-want +got):\n%s", p.asked, diff)
	}
	write := publish.Write{Operation: publish.Update, Slice: publish.Slice{Name: "web-remote", Version: "7"}, After: []string{"x"}}
	if version, err := m.Store(p).Write(t.Context(), write); err != nil || version != "8" {
		t.Errorf("write: got version %q and %v, want 8", version, err)
	}
	if diff := cmp.Diff(any(write), p.asked, byAddress); diff != "" {
		t.Errorf("write (-want +got):\n%s", diff)
	}
}

func TestErrorsPassAsTheyAre(t *testing.T) {
	m, _ := newMetrics(t)
	limited := &transport.RetryAfterError{Err: errors.New("too many requests"), After: 42 * time.Second}
	for _, err := range []error{errOutage, fmt.Errorf("update: %w", publish.ErrConflict), fmt.Errorf("list: %w", limited)} {
		p := &part{err: err, nodes: []inventory.Node{node("a", "10.0.0.1")}}
		nodes, read := m.Source("ionos", p).Read(t.Context())
		_, load := m.Store(p).Load(t.Context())
		_, write := m.Store(p).Write(t.Context(), publish.Write{Operation: publish.Create})
		for what, got := range map[string]error{"read": read, "load": load, "write": write} {
			if got != err { //nolint:errorlint // not wrapped, not copied: this one
				t.Errorf("%s: got %v, want %v itself", what, got, err)
			}
			if errors.Is(err, limited) && transport.RetryAfterOf(got) != limited.After {
				t.Errorf("%s: %v does not ask to wait any more", what, got)
			}
		}
		if !errors.Is(write, publish.ErrConflict) && errors.Is(err, publish.ErrConflict) {
			t.Errorf("got %v, want a conflict", write)
		}
		if len(nodes) != 1 {
			t.Errorf("got %d nodes beside the error, want what the source returned", len(nodes))
		}
	}
}

func TestContract36ALoadThatMayBeOutOfDateIsCounted(t *testing.T) {
	m, shown := newMetrics(t)
	for _, state := range []publish.State{{Stale: errOutage}, {UnreadErr: errOutage}, {}} {
		if _, err := m.Store(&part{state: state}).Load(t.Context()); err != nil {
			t.Errorf("got %v, want the state", err)
		}
	}
	want(t, shown(), map[string]float64{`store_errors_total`: 2})
}

func TestWhatWeEndOurselvesIsNoFailure(t *testing.T) {
	m, shown := newMetrics(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for _, ctx := range []context.Context{stopped, late} {
		p := &part{err: ctx.Err(), result: inventory.Result{Outcome: inventory.LocalError}}
		_, _ = m.Source("file", p).Read(ctx)
		_, _ = m.Store(p).Load(ctx)
		m.Prober("blue", p).Check(ctx, netip.Addr{})
	}
	// Errors of the deadline count, those of the stop do not.
	want(t, shown(), map[string]float64{
		`source_read_duration_seconds_count{source="file"}`: 1,
		"store_errors_total": 1, `health_checks_total{outcome="LocalError",pool="blue"}`: 1, "health_check_duration_seconds_count": 0,
	})
}

func TestEveryOutcomeOfAProbeAndOfAWriteIsCounted(t *testing.T) {
	m, shown := newMetrics(t)
	wanted := map[string]float64{"health_check_duration_seconds_count": 1 + 2 + 3}
	for i, o := range []inventory.Outcome{inventory.Pass, inventory.Refused, inventory.Silent, inventory.LocalError} {
		for range i + 1 {
			m.Prober("blue", &part{result: inventory.Result{Outcome: o}}).Check(t.Context(), netip.Addr{})
		}
		wanted[`health_checks_total{outcome="`+[]string{"Pass", "Refused", "Silent", "LocalError"}[i]+`",pool="blue"}`] = float64(i + 1)
	}
	for _, operation := range []publish.Operation{publish.Create, publish.Update} {
		for i, err := range []error{nil, fmt.Errorf("update: %w", publish.ErrConflict), errOutage} {
			for range i + 1 {
				_, _ = m.Store(&part{err: err}).Write(t.Context(), publish.Write{Operation: operation})
			}
			wanted[`writes_total{operation="`+string(operation)+`",result="`+[]string{"success", "conflict", "error"}[i]+`"}`] = float64(i + 1)
		}
	}
	want(t, shown(), wanted)
}

// The closed lists are copies of lists elsewhere.
func TestTheClosedListsAreComplete(t *testing.T) {
	values := func(family, label string) []string {
		for _, f := range metrics.Families() {
			for _, l := range f.Labels {
				if f.Name == "ionos_endpointslice_"+family && l.Name == label {
					return l.Values
				}
			}
		}
		return nil
	}
	for _, list := range []struct {
		family, label string
		want          []string
	}{
		{"writes_total", "operation", constants(t, "../publish/slice.go", "Operation")},
		{"health_check_groups", "mode", constants(t, "../guard/guard.go", "Mode")},
		{"health_checks_total", "outcome", slices.DeleteFunc(constants(t, "../inventory/result.go", "Outcome"), func(o string) bool {
			return o == inventory.Elsewhere.String() // of another replica, not of a check
		})},
		{"not_eligible", "reason", constants(t, "../inventory/decision.go", "Reason")},
	} {
		got := slices.Sorted(slices.Values(values(list.family, list.label)))
		slices.Sort(list.want)
		if diff := cmp.Diff(list.want, got); diff != "" || len(got) < 2 {
			t.Errorf("%s{%s} (-constants +values):\n%s", list.family, list.label, diff)
		}
	}
	for _, kind := range constants(t, "../publish/service.go", "Kind") {
		if !slices.Contains(values("service_problem", "kind"), kind) {
			t.Errorf("%s is no problem of a Service", kind)
		}
	}
	if got := values("endpoint_changes_total", "state"); len(got) != int(inventory.StateDown)+1 {
		t.Errorf("got the states %q, want all", got)
	}
}
