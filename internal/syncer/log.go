package syncer

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// narrator logs and announces what changes, once each: a state that lasts is not
// repeated.
type narrator struct {
	log *slog.Logger
	// tell announces the same to those who look at the Service, service is that
	// Service's UID.
	tell    Announcer
	service string
	// thorough says that details are logged too.
	thorough bool
	// said is the dry run's last announcement.
	said string
	// deaf says that the store could not be loaded the last time.
	deaf bool
	// complained is when overruns were last logged.
	complained time.Time
}

// newNarrator announces nothing in a dry run.
func newNarrator(ctx context.Context, o Options, service plan.Service) narrator {
	n := narrator{log: o.Logger, tell: o.Announcer, service: service.UID, thorough: o.Logger.Enabled(ctx, slog.LevelDebug)}
	if o.DryRun || n.tell == nil {
		n.tell = silence{}
	}
	return n
}

// mostLines is how many single changes of one pass are logged; of more, only
// their number is.
const mostLines = 20

// overran says, once a minute at the most, that rounds of probes take too long.
func (n *narrator) overran(overruns uint64, now time.Time) {
	if !n.complained.IsZero() && now.Sub(n.complained) < time.Minute {
		return
	}
	n.complained = now
	n.log.Warn("a round of health checks did not finish within HEALTH_CHECK_INTERVAL; raise it, or HEALTH_CHECK_CONCURRENCY, or lower HEALTH_CHECK_TIMEOUT", "overruns", overruns)
}

// recovered says what the program starts from.
func (n *narrator) recovered(members []inventory.Member, barred map[netip.Addr]bool) {
	n.log.Info("started from the slices", "members", len(members))
	if len(barred) > 0 {
		n.log.Warn("published members are no longer allowed by SECURED_SUBNET_CIDR; they are not probed and leave as soon as a read is believed", "members", len(barred))
	}
}

// read says when the source begins to fail, fails otherwise, or recovers.
func (n *narrator) read(before SourceStatus, r reading) {
	switch {
	case r.err != nil && before.LastErr == nil:
		n.announce(Notice{Reason: SourceUnavailable, Note: "members stay as they are: " + r.err.Error()})
	case r.err == nil && before.LastErr != nil:
		n.announce(Notice{Reason: SourceRecovered, Note: fmt.Sprintf("%d nodes read", len(r.nodes))})
	}
	switch {
	case r.err != nil && (before.LastErr == nil || before.LastErr.Error() != r.err.Error()):
		n.log.Warn("source read failed, members stay as they are", "error", r.err)
	case r.err != nil:
		n.log.Debug("source read failed again", "error", r.err)
	case before.LastErr != nil:
		n.log.Info("source recovered", "nodes", len(r.nodes))
	}
}

// refused says when the nodes that the filter refuses change.
func (n *narrator) refused(before, after []inventory.Decision) {
	was, is := refusals(before), refusals(after)
	if slices.Equal(was, is) {
		return
	}
	reasons := make(map[inventory.Reason]int)
	for _, d := range is {
		reasons[d.Reason]++
	}
	args := []any{"refused", len(is)}
	for _, doc := range inventory.Reasons() {
		if count := reasons[doc.Reason]; count > 0 {
			args = append(args, snake(doc.Reason), count)
		}
	}
	if len(is) > 0 {
		args = append(args, "node", is[0].Node.Name, "message", is[0].Message)
	}
	n.log.Info("filter refuses others than before", args...)
}

// refusals returns the decisions that refuse something.
func refusals(decisions []inventory.Decision) []inventory.Decision {
	return slices.DeleteFunc(slices.Clone(decisions), func(d inventory.Decision) bool { return d.Reason == "" })
}

// snake spells a reason as a log key.
func snake(reason inventory.Reason) string {
	var key strings.Builder
	for i, r := range string(reason) {
		if i > 0 && 'A' <= r && r <= 'Z' {
			key.WriteByte('_')
		}
		key.WriteString(strings.ToLower(string(r)))
	}
	return key.String()
}

// decided says when the mode or a member changes.
func (n *narrator) decided(before, after guard.Verdict, changes []memberChange) {
	if before.Mode != after.Mode {
		say := n.log.Warn
		if after.Mode == guard.Publish {
			say = n.log.Info
		}
		n.announce(modeNotices(before, after)...)
		say("mode changed", "from", before.Mode.String(), "mode", after.Mode.String(), "cause", string(after.Cause), "message", after.Message)
	}
	if len(changes) == 0 {
		return
	}
	decisions := make(map[netip.Addr]inventory.Decision, len(after.Decisions))
	for _, d := range after.Decisions {
		decisions[d.Address] = d
	}
	for i, c := range changes {
		if i == mostLines {
			n.log.Info("further members changed", "members", len(changes)-i)
			break
		}
		d := decisions[c.address]
		n.log.Info("member changed", "address", c.address.String(), "node", d.Node.Name, "from", c.from.String(), "to", c.to.String(), "reason", string(d.Reason), "message", d.Message)
	}
}

// memberChange is one address whose state differs.
type memberChange struct {
	address  netip.Addr
	from, to inventory.State
}

// compareMembers returns how two sorted lists of members differ.
func compareMembers(before, after []inventory.Member) []memberChange {
	var changes []memberChange
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Address.Less(after[0].Address):
			changes = append(changes, memberChange{before[0].Address, before[0].State, inventory.Absent})
			before = before[1:]
		case len(before) == 0 || after[0].Address.Less(before[0].Address):
			changes = append(changes, memberChange{after[0].Address, inventory.Absent, after[0].State})
			after = after[1:]
		default:
			if before[0].State != after[0].State {
				changes = append(changes, memberChange{after[0].Address, before[0].State, after[0].State})
			}
			before, after = before[1:], after[1:]
		}
	}
	return changes
}

// would says what a dry run does not write.
func (n *narrator) would(writes []plan.Write) {
	lines := make([]string, len(writes))
	for i, w := range writes {
		lines[i] = fmt.Sprintf("%s %s %v %v %v", w.Operation, w.Slice.Name, w.Added, w.Removed, w.Changed)
	}
	if said := strings.Join(lines, "\n"); said != n.said {
		n.said = said
		for _, w := range writes {
			n.log.Info("dry run, slice not written", wrote(w)...)
		}
	}
}

// written says what came of writes, after which the state is as given.
func (n *narrator) written(results []WriteResult, state plan.State) {
	n.announce(updated(results, state)...)
	for _, r := range results {
		if r.Err != nil {
			n.log.Error("slice not written, it will be decided again", append(wrote(r.Write), "error", r.Err)...)
			continue
		}
		n.log.Info("slice written", wrote(r.Write)...)
	}
}

// wrote describes a write.
func wrote(w plan.Write) []any {
	return []any{"slice", w.Slice.Name, "operation", string(w.Operation), "endpoints", len(w.Slice.Endpoints), "added", len(w.Added), "removed", len(w.Removed), "changed", len(w.Changed)}
}

// loaded says when the store cannot be read, and when it can again.
func (n *narrator) loaded(err error) {
	switch {
	case err != nil && !n.deaf:
		n.log.Error("cannot load the slices, trying again", "error", err)
	case err == nil && n.deaf:
		n.log.Info("slices can be loaded again")
	}
	n.deaf = err != nil
}

// problem says when something about the Service stands in the way.
func (n *narrator) problem(before, after plan.Problem) {
	switch {
	case before == after:
	case after.Kind != "":
		n.announce(Notice{Reason: NoticeReason(after.Kind), Note: after.Message})
		n.log.Warn("service cannot be filled", "problem", string(after.Kind), "message", after.Message)
	default:
		n.log.Info("service can be filled again")
	}
}

// seen says when slices of our names are somebody else's, and when others publish
// beside ours, each of them once.
func (n *narrator) seen(before, after plan.State) {
	n.service = after.Service.UID
	for _, r := range after.Refused {
		if !slices.Contains(before.Refused, r) {
			n.announce(Notice{Reason: SliceOwnedByOther, Note: r.Message})
			n.log.Warn("slice is not ours and is left alone", "slice", r.Name, "message", r.Message)
		}
	}
	for _, b := range after.Beside {
		// How many endpoints it has may change all day.
		same := func(was plan.Beside) bool { return was.Name == b.Name && was.Manager == b.Manager }
		if !slices.ContainsFunc(before.Beside, same) {
			n.announce(Notice{Reason: MirroredSliceFound, Note: b.Message})
			n.log.Warn("another slice publishes endpoints beside ours", "slice", b.Name, "manager", b.Manager, "endpoints", b.Endpoints, "message", b.Message)
		}
	}
	if len(before.Beside) > 0 && len(after.Beside) == 0 {
		n.log.Info("no other slice publishes endpoints beside ours any more")
	}
}

// found says, in detail, of every node and address what became of it.
func (n *narrator) found(all []Finding, now time.Time) {
	if !n.thorough {
		return
	}
	for _, f := range all {
		if f.Since.Equal(now) {
			n.log.Debug("decision changed", "node", f.Node.Name, "address", addressOf(f), "state", f.State.String(), "reason", string(f.Reason), "message", f.Message)
		}
	}
}

// addressOf spells a finding's address; a decision about a whole node has none.
func addressOf(f Finding) string {
	if !f.Address.IsValid() {
		return ""
	}
	return f.Address.String()
}
