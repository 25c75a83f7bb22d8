package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// explainMany says for every Service of the scope why a node or an address is, or is not,
// in its slices.
func (l *looking) explainMany(ctx context.Context, subject string, out commandline.Format) error {
	e, t, raw, err := l.lookEverywhere(ctx, subject)
	if err != nil {
		return err
	}
	var data any = e
	if raw != nil {
		data = raw
	}
	if err := out.Print(l.Stdout, data, everywhereText(e, t, out == commandline.Wide)); err != nil {
		return err
	}
	if ready, known := readyIn(e); known == 0 || ready < known {
		return &exitError{code: ExitDifferent}
	}
	return nil
}

// lookEverywhere asks the daemon or, where none answers or knows no nodes, finds out
// itself.
func (l *looking) lookEverywhere(ctx context.Context, subject string) (*report.Explanation, *report.Services, json.RawMessage, error) {
	if !l.alone {
		e, raw, err := askExplanation(ctx, l.config, l.scope, subject)
		var v shown
		if err == nil && e.Decided && (e.Leader || !e.Election.Enabled) {
			v, err = askTargets(ctx, l.config, l.scope)
		}
		switch {
		case ctx.Err() != nil:
			return nil, nil, nil, ctx.Err()
		case err != nil:
			l.say("No answer from the daemon: " + err.Error() + "; evaluating locally instead.")
		case v.targets != nil:
			return e, v.targets, raw, nil
		default:
			l.say("The daemon knows no nodes: " + plain(strings.Join(append([]string{"no decision yet, or it does not lead"}, headBanners(e.Election, e.HandedOnBy, e.Standstill)...), "; ")) + "; evaluating locally instead.")
		}
	}
	k, err := l.computeKnown(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	return k.explain(l.scope, subject), k.targets(l.scope), nil, nil
}

// readyIn counts the Services that know the subject, and those of them that publish all
// of its addresses ready, whichever node has them.
func readyIn(e *report.Explanation) (ready, known int) {
	for _, t := range e.Services {
		addresses := make(map[string]bool)
		for _, n := range t.Nodes {
			addresses[n.Address] = addresses[n.Address] || n.State == inventory.StateReady.String()
		}
		if !slices.Contains(slices.Collect(maps.Values(addresses)), false) {
			ready++
		}
	}
	return ready, len(e.Services)
}

// everywhereText renders an explanation for people: a line for each entry of each Service
// that knows the subject, and for each Service to which no pool grants anything.
func everywhereText(e *report.Explanation, t *report.Services, all bool) string {
	var b strings.Builder
	ready, known := readyIn(e)
	switch {
	case known == 0:
		fmt.Fprintf(&b, "%s is unknown: no pool of %s lists a node that is named so or has it as id or address.\n", plain(e.Subject), plural(t.Total, "Service"))
	default:
		fmt.Fprintf(&b, "%s is known to %d of %s, and published ready by %d.\n", plain(e.Subject), known, plural(t.Total, "Service"), ready)
	}
	for _, banner := range headBanners(e.Election, e.HandedOnBy, e.Standstill) {
		fmt.Fprintln(&b, plain(banner))
	}
	r := newRows("NAMESPACE", "SERVICE", "POOL", "NODE", "ADDRESS", "STATE", "REASON", "MESSAGE")
	lines := 0
	knows := make(map[string]bool)
	for _, s := range e.Services {
		knows[s.Namespace+"/"+s.Service] = true
		for _, n := range s.Nodes {
			r.add(s.Namespace, s.Service, n.Pool, n.Name, n.Address, n.State, n.Reason, maybeShort(n.Message, all))
			lines++
		}
	}
	others := 0
	for _, s := range t.Services {
		switch {
		case knows[s.Namespace+"/"+s.Service]:
		case len(s.Refusals) > 0:
			for _, refused := range s.Refusals {
				r.add(s.Namespace, s.Service, refused.Pool, "", "", inventory.Absent.String(), refused.Reason, maybeShort(refused.Message, all))
				lines++
			}
		case all:
			r.add(s.Namespace, s.Service, poolsCell(s), "", "", inventory.Absent.String(), "", "no pool of the Service lists it")
			lines++
		default:
			others++
		}
	}
	if lines > 0 {
		b.WriteString("\n" + r.String())
	}
	if others > 0 && known > 0 {
		fmt.Fprintf(&b, "\nNo pool of %s lists it; -o wide names them.\n", plural(others, "other Service"))
	}
	return b.String()
}
