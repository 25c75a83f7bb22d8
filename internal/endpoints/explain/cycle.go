package explain

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// MaxCycles is how many cycles a Status keeps.
const MaxCycles = 20

// Cycle is one read of the source and what it changed, one decision that changed
// something, or one change of the slices.
type Cycle struct {
	// At is when it began, DurationSeconds how long reading, or writing, took.
	At              time.Time `json:"at,omitzero"`
	DurationSeconds float64   `json:"durationSeconds"`
	// Inventory is what was read; nil where nothing was, or reading failed.
	Inventory *Inventory `json:"inventory,omitempty"`
	// Mode is the change of the mode, nil where it stayed.
	Mode *ModeChange `json:"mode,omitempty"`
	// States are the endpoints that changed state, at most mostLines; MoreStates
	// counts the others.
	States     []StateChange `json:"states,omitempty"`
	MoreStates int           `json:"moreStates,omitempty"`
	// Writes counts the writes that succeeded; Added, Removed and Changed are
	// the addresses that they were about, sorted. An address that only moved
	// from one slice to another is in none of them.
	Writes  int      `json:"writes"`
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []string `json:"changed"`
	// Error is why the read, or a write, failed.
	Error string `json:"error"`
	// Repeats counts the cycles since the last change that said the same; they
	// are not listed.
	Repeats int `json:"repeats"`
}

// Inventory sums up one inventory.
type Inventory struct {
	// Nodes is how many nodes it lists.
	Nodes int `json:"nodes"`
	// Rejected is why it was rejected; empty where it was not, or is not judged yet.
	Rejected string `json:"rejected"`
}

// ModeChange is a mode that was left for another one. Reason and Message are those of
// the mode that was entered. Publish has neither: there Reason is what has ended, and
// Message says so.
type ModeChange struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// StateChange is one endpoint that entered another state, and why.
type StateChange struct {
	Address string `json:"address"`
	From    string `json:"from"`
	To      string `json:"to"`
	Reason  string `json:"reason"`
}

// quiet reports whether the cycle changed nothing.
func (c Cycle) quiet() bool { return c.Writes == 0 && c.Mode == nil && len(c.States) == 0 }

// like reports whether two quiet cycles say the same.
func (c Cycle) like(other Cycle) bool {
	none := new(Inventory)
	return c.Error == other.Error && *cmp.Or(c.Inventory, none) == *cmp.Or(other.Inventory, none)
}

// Prepend returns the cycles with a new one at the front. A quiet cycle replaces
// one that said the same since the last change, so that quiet reads and failing
// writes do not push that change off the page.
func Prepend(cycles []Cycle, c Cycle) []Cycle {
	after := make([]Cycle, 1, MaxCycles)
	recent := c.quiet()
	for _, before := range cycles {
		recent = recent && before.quiet()
		if recent && c.like(before) {
			c.Repeats = before.Repeats + 1
			recent = false
			continue
		}
		if len(after) < MaxCycles {
			after = append(after, before)
		}
	}
	after[0] = c
	return after
}

// decidedCycle sums up what was read and what was decided; nil where nothing was read
// and nothing changed.
func decidedCycle(o pool.Outcome, before guard.Verdict, changes []memberChange) *Cycle {
	c := Cycle{At: o.At, Added: spelled(nil), Removed: spelled(nil), Changed: spelled(nil)}
	if o.Read != nil {
		c.At, c.DurationSeconds = o.Read.At, seconds(o.Read.Took)
	}
	switch {
	case o.Read == nil:
	case o.Read.Err != nil:
		c.Error = o.Read.Err.Error()
	default:
		c.Inventory = &Inventory{Nodes: len(o.Read.Nodes)}
		if o.Passed {
			c.Inventory.Rejected = string(o.Verdict.Memory.RejectedFor())
		}
	}
	if before.Mode != o.Verdict.Mode {
		c.Mode = modeChange(before, *o.Verdict)
	}
	for _, m := range changes[:min(len(changes), mostLines)] {
		c.States = append(c.States, StateChange{m.address.String(), m.from.String(), m.to.String(), string(decisionOn(o.Verdict.Decisions, m.address).Reason)})
	}
	c.MoreStates = len(changes) - len(c.States)
	if o.Read == nil && c.quiet() {
		return nil
	}
	return &c
}

// cycleOf sums up what came of writes between two times.
func cycleOf(results []writer.Result, began, ended time.Time) Cycle {
	var failed []error
	for _, r := range results {
		failed = append(failed, r.Err)
	}
	w := changeOf(results)
	c := Cycle{
		At: began, DurationSeconds: seconds(ended.Sub(began)), Writes: len(w.slices),
		Added: spelled(without(w.added, w.removed)), Removed: spelled(without(w.removed, w.added)), Changed: spelled(w.changed),
	}
	if err := errors.Join(failed...); err != nil {
		c.Error = err.Error()
	}
	return c
}

// seconds is how long something took, to the microsecond.
func seconds(d time.Duration) float64 { return d.Truncate(time.Microsecond).Seconds() }

// spelled spells addresses.
func spelled(addrs []netip.Addr) []string {
	all := make([]string, len(addrs))
	for i, addr := range addrs {
		all[i] = addr.String()
	}
	return all
}

// without returns a sorted list without what another has.
func without(list, other []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(list), func(addr netip.Addr) bool {
		_, moved := slices.BinarySearchFunc(other, addr, netip.Addr.Compare)
		return moved
	})
}

// Trail joins the decisions of the filter and of the guard with what the probes
// last said of each address, sorted by node, address and stage.
func Trail(filtered, judged []inventory.Decision, health inventory.Health) []inventory.Decision {
	judged = named(filtered, judged)
	all := slices.Grow(slices.Concat(filtered, judged), len(judged))
	for _, d := range judged {
		streak, ok := health.Lookup(d.Address)
		if !ok || !streak.Known() && streak.Trouble == "" {
			continue
		}
		probe := inventory.Decision{Node: d.Node, Address: d.Address, Stage: inventory.StageHealth, Message: streak.Last.Message}
		if streak.Passes == 0 {
			probe.Reason = streak.Last.Reason
		}
		if streak.Trouble != "" {
			probe.Message = streak.Trouble
		}
		all = append(all, probe)
	}
	slices.SortStableFunc(all, inventory.CompareDecisions)
	return all
}

// named returns the guard's decisions under the names that the filter knows. The
// guard does not know the node of a recovered member that no inventory has listed
// as eligible. The answer is sorted by name; the inputs stay as they are.
func named(filtered, judged []inventory.Decision) []inventory.Decision {
	judged = ByName(judged)
	unknown := 0
	for unknown < len(judged) && !judged[unknown].Node.Known() {
		unknown++
	}
	if unknown == 0 {
		return judged
	}
	owners := make(map[netip.Addr]inventory.Decision)
	for _, d := range filtered {
		if owner, ok := owners[d.Address]; d.Address.IsValid() && (!ok || owner.Reason != "" && d.Reason == "") {
			owners[d.Address] = d
		}
	}
	all := slices.Clone(judged)
	for i := range all[:unknown] {
		all[i].Node = owners[all[i].Address].Node
	}
	slices.SortFunc(all, inventory.CompareDecisions)
	return all
}

// ByName returns decisions as they are shown. They stay as they are.
func ByName(decisions []inventory.Decision) []inventory.Decision {
	if slices.IsSortedFunc(decisions, inventory.CompareDecisions) {
		return decisions
	}
	decisions = slices.Clone(decisions)
	slices.SortStableFunc(decisions, inventory.CompareDecisions)
	return decisions
}
