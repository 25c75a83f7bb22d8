package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// targetsText renders pools and Services for people: first the pools, then the Services,
// the worst first.
func targetsText(t *report.Services, all bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, plain(t.Summary))
	for _, banner := range manyBanners(t) {
		fmt.Fprintln(&b, plain(banner))
	}
	if t.Election.Enabled && !t.Leader {
		return b.String()
	}
	if len(t.Pools) > 0 {
		b.WriteString("\n")
		b.WriteString(poolTable(t, all))
	}
	if len(t.Services) > 0 {
		b.WriteString("\n")
		b.WriteString(targetTable(t, all))
	}
	return b.String()
}

// headBanners say which replica answers, and that the program stands still.
func headBanners(e report.Election, handedOnBy, standstill string) []string {
	var all []string
	if handedOnBy != "" {
		all = append(all, fmt.Sprintf("%s stands by and hands on the status of the leader, %s.", handedOnBy, e.Holder))
	}
	if e.LeaderError != "" {
		all = append(all, "The status of the leader cannot be read: "+e.LeaderError)
	}
	if standstill != "" {
		all = append(all, "STANDS STILL, the rest is old: "+standstill)
	}
	return all
}

// manyBanners are what must not be overlooked.
func manyBanners(t *report.Services) []string {
	all := headBanners(t.Election, t.HandedOnBy, t.Standstill)
	if t.ServicesKept != "" {
		all = append(all, "HOLD: "+t.ServicesKept)
	}
	for _, p := range t.Pools {
		if p.Removal != nil {
			all = append(all, "PENDING in pool "+p.Name+": "+p.Removal.String())
		}
	}
	for _, l := range t.ServicesWithoutPool {
		all = append(all, fmt.Sprintf("Slice %s/%s holds %s of pool %s, which no document describes. They stay as they are and are not checked.", l.Namespace, l.Slice, plural(l.Endpoints, "endpoint"), l.Pool))
	}
	if t.Documents != nil {
		for _, m := range t.Documents.Mistakes {
			all = append(all, "Mistake in a document: "+strings.TrimSpace(m.Place+" "+m.Message))
		}
	}
	if t.Documents != nil && t.Documents.StatusError != "" {
		all = append(all, t.Documents.StatusError+".")
	}
	if t.DryRun {
		all = append(all, "Dry run: nothing is written.")
	}
	return all
}

// rows writes a table.
type rows struct {
	b     strings.Builder
	table *tabwriter.Writer
}

// newRows begins with the names of the columns, if there are any.
func newRows(columns ...string) *rows {
	r := &rows{}
	r.table = tabwriter.NewWriter(&r.b, 0, 0, 2, ' ', 0)
	if len(columns) > 0 {
		fmt.Fprintln(r.table, strings.Join(columns, "\t"))
	}
	return r
}

// add adds a line.
func (r *rows) add(cells ...string) {
	for i := range cells {
		cells[i] = plain(dash(cells[i]))
	}
	fmt.Fprintln(r.table, strings.Join(cells, "\t"))
}

// String returns the table.
func (r *rows) String() string {
	_ = r.table.Flush() // a strings.Builder cannot fail
	return r.b.String()
}

// maybeShort cuts a message unless all is to be shown.
func maybeShort(message string, all bool) string {
	if all {
		return message
	}
	return short(message)
}

// poolTable lists the pools.
func poolTable(t *report.Services, all bool) string {
	columns := []string{"POOL", "STATE", "NODES", "READY", "DOWN", "DRAINING", "SERVICES", "READ", "MESSAGE"}
	if all {
		columns = []string{"POOL", "STATE", "SOURCE", "NODES", "READY", "DOWN", "DRAINING", "SERVICES", "READ", "MODE", "SINCE", "CHECKS", "MESSAGE"}
	}
	r := newRows(columns...)
	for _, p := range t.Pools {
		source, read := "", ""
		if p.Source != nil {
			source, read = p.Source.Kind, agoOf(t.At, p.Source.LastSuccess)
		}
		counts := []string{fmt.Sprint(p.Stages.Nodes), fmt.Sprint(p.Stages.Ready), fmt.Sprint(p.Stages.Down), fmt.Sprint(p.Stages.Draining), fmt.Sprint(p.Services), read}
		message := maybeShort(poolMessage(p), all)
		if !all {
			r.add(append(append([]string{p.Name, string(p.Condition)}, counts...), message)...)
			continue
		}
		var checks []string
		for _, g := range p.Groups {
			checks = append(checks, g.HealthCheck)
		}
		mode := []string{p.Mode, ageOf(t.At, p.Since), strings.Join(checks, ", "), message}
		r.add(append(append([]string{p.Name, string(p.Condition), source}, counts...), mode...)...)
	}
	return r.String()
}

// poolMessage says what is wrong with a pool.
func poolMessage(p report.PoolStatus) string {
	switch {
	case p.Problem != "":
		return p.Problem
	case p.Source != nil && p.Source.LastError != "":
		return "cannot be read: " + p.Source.LastError
	case p.Message != "":
		return strings.TrimSpace(p.Reason + ": " + p.Message)
	case p.Vanished:
		return "no document describes it any more"
	case p.Source != nil && len(p.Source.Warnings) > 0:
		return p.Source.Warnings[0]
	}
	return ""
}

// targetTable lists the Services in the order that they are in.
func targetTable(t *report.Services, all bool) string {
	columns := []string{"NAMESPACE", "SERVICE", "STATE", "READY", "POOLS", "MESSAGE"}
	if all {
		columns = []string{"NAMESPACE", "SERVICE", "STATE", "READY", "POOLS", "LEAVES", "MESSAGE"}
	}
	r := newRows(columns...)
	for _, s := range t.Services {
		cells := []string{s.Namespace, s.Service, string(s.Condition), fmt.Sprintf("%d/%d", s.ReadyEndpoints, s.Endpoints), poolsCell(s)}
		if all {
			leaves := ""
			if !s.LeavesAt.IsZero() {
				leaves = "in " + duration.HumanDuration(max(0, s.LeavesAt.Sub(t.At)))
			}
			cells = append(cells, leaves)
		}
		r.add(append(cells, maybeShort(targetMessage(s), all))...)
	}
	return r.String()
}

// poolsCell names the pools of a Service, and what becomes of those that change.
func poolsCell(s report.ServiceStatus) string {
	var names []string
	for _, p := range s.Pools {
		name := p.Name
		if p.State != report.Active {
			name += "(" + string(p.State) + ")"
		}
		names = append(names, name)
	}
	for _, r := range s.Refusals {
		if r.Pool != "" {
			names = append(names, r.Pool+"(refused)")
		}
	}
	return strings.Join(names, ",")
}

// targetMessage says what is wrong with a Service.
func targetMessage(s report.ServiceStatus) string {
	switch {
	case s.Problem != nil:
		return s.Problem.Kind + ": " + s.Problem.Message
	case len(s.Refusals) > 0:
		return s.Refusals[0].Reason + ": " + s.Refusals[0].Message
	}
	for _, p := range s.Pools {
		if p.StateMessage != "" {
			return p.Name + ": " + p.StateMessage
		}
	}
	if s.Condition == report.Healthy {
		if s.DryRun {
			return "dry run"
		}
		return ""
	}
	return s.Summary
}

// ageOf is how old a time was at another.
func ageOf(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(at)))
}

// agoOf is ageOf with a word for what never was.
func agoOf(now, at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return ageOf(now, at) + " ago"
}
