package cli

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// explainCommand answers why a node or an address is, or is not, in a slice.
func (p Program) explainCommand() *cobra.Command {
	var timeout time.Duration
	var out format
	cmd := &cobra.Command{
		Use:   "explain NODE|IP",
		Short: "Say why a node or an address is in a slice or not; exit status 1 if it is not ready",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.once(cmd, timeout, func(ctx context.Context, b *parts) error {
				a, err := b.syncer.Assess(ctx)
				if err != nil {
					return err
				}
				e := explain(a.Status, args[0])
				if err := out.print(p.Stdout, e, e.text()); err != nil {
					return err
				}
				if !e.Ready {
					return &exitError{code: ExitDifferent}
				}
				return nil
			})
		},
	}
	timeoutFlag(cmd, &timeout)
	outputFlag(cmd, &out)
	return cmd
}

// explanation is the trail of one node or address.
type explanation struct {
	Subject string `json:"subject"`
	// Found says that the source, or a slice, knows the subject.
	Found bool `json:"found"`
	// Ready says that an address of the subject is published ready.
	Ready     bool       `json:"ready"`
	Mode      string     `json:"mode"`
	Decisions []stepView `json:"decisions"`
}

// stepView is one decision of the trail.
type stepView struct {
	Node    string `json:"node"`
	Address string `json:"address,omitempty"`
	Stage   string `json:"stage"`
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// explain picks the decisions about the subject: by node name, node id or
// address.
func explain(status *syncer.Status, subject string) explanation {
	e := explanation{Subject: subject, Mode: status.Verdict.Mode.String()}
	addr, _ := netip.ParseAddr(subject)
	for _, d := range status.Trail() {
		if d.Node.Name != subject && d.Node.ID != subject && (!addr.IsValid() || d.Address != addr) {
			continue
		}
		e.Found = true
		step := stepView{Node: d.Node.Name, Stage: string(d.Stage), Reason: string(d.Reason), Message: d.Message}
		if d.Address.IsValid() {
			step.Address = d.Address.String()
		}
		if d.Stage == inventory.StageGuard {
			state := stateOf(status.Verdict.Members, d.Address)
			step.State = state.String()
			e.Ready = e.Ready || state == inventory.StateReady
		}
		e.Decisions = append(e.Decisions, step)
	}
	if !e.Found {
		e.Decisions = []stepView{{Stage: string(inventory.StageSource), Reason: "", Message: unknown(status, subject)}}
	}
	return e
}

// stateOf returns the state that the verdict gives an address.
func stateOf(members []inventory.Member, addr netip.Addr) inventory.State {
	for _, m := range members {
		if m.Address == addr {
			return m.State
		}
	}
	return inventory.Absent
}

// unknown says that no stage has seen the subject, and what the source has.
func unknown(status *syncer.Status, subject string) string {
	var names []string
	for _, d := range status.Source.Decisions {
		names = append(names, d.Node.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 10
	more := ""
	if len(names) > most {
		names, more = names[:most], ", ..."
	}
	return fmt.Sprintf("the source lists %d nodes, and none is named %q or has it as id or address; it lists: %s%s",
		status.Source.Nodes, subject, strings.Join(names, ", "), more)
}

// text renders the explanation for people.
func (e explanation) text() string {
	var b strings.Builder
	switch {
	case !e.Found:
		fmt.Fprintf(&b, "%s is unknown.\n", e.Subject)
	case e.Ready:
		fmt.Fprintf(&b, "%s is published ready.\n", e.Subject)
	default:
		fmt.Fprintf(&b, "%s is not published ready.\n", e.Subject)
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tADDRESS\tSTAGE\tSTATE\tREASON\tMESSAGE")
	for _, s := range e.Decisions {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", dash(s.Node), dash(s.Address), s.Stage, dash(s.State), dash(s.Reason), s.Message)
	}
	_ = table.Flush() // a strings.Builder cannot fail
	return b.String()
}

// dash stands in for nothing.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
