package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// explainCommand answers why a node or an address is, or is not, in a slice.
func (p Program) explainCommand() *cobra.Command {
	l := &looking{Program: p, command: "explain", subject: "NODE|IP"}
	var timeout time.Duration
	var out commandline.Format
	cmd := &cobra.Command{
		Use:   "explain [-n NAMESPACE [SERVICE] | -A] NODE|IP",
		Short: "Say why a node or an address is in a slice or not; exit status 1 if it is not ready",
		Long: "Shows what each stage decided on a node, by its name or id, or on an address, with\n" +
			"the actual values, and what to do.\n\n" +
			"Asks the daemon that runs with this configuration, at ADMIN_ADDRESS: it knows how\n" +
			"often checks passed or failed, which endpoints are kept or drain, and what left\n" +
			"within ten minutes. A daemon that stands by answers with what the leader knows. If\n" +
			"no daemon or no leader answers, the command reads source and slices and checks the\n" +
			"endpoints itself, writes nothing, and says so.\n\n" +
			"Without -n and -A it asks for the only Service. Where there are several,\n" +
			"-n NAMESPACE SERVICE asks for one of them, and -A says it for every Service;\n" +
			"-n NAMESPACE for those of a namespace. Exit status 0 then means that each Service\n" +
			"that knows the node or address publishes it ready. As json and yaml it is -A unless\n" +
			"a Service is named.",
		Example: "  ionos-endpointslice-controller explain worker-1\n" +
			"  ionos-endpointslice-controller explain -n shop web 10.0.0.12\n" +
			"  ionos-endpointslice-controller explain -A 10.0.0.12",
		Args: l.scope.takes(oneSubject),
		RunE: func(cmd *cobra.Command, args []string) error {
			l.scope.listed(out)
			if err := l.load(); err != nil {
				return err
			}
			ctx, cancel := within(cmd.Context(), timeout)
			defer cancel()
			return ended(ctx, l.explain(ctx, args[len(args)-1], out))
		},
	}
	scopeFlags(cmd, &l.scope)
	computeFlag(cmd, &l.alone)
	timeoutFlag(cmd, &timeout)
	commandline.ChooseOutput(cmd, &out, commandline.Text, commandline.Wide, commandline.JSON, commandline.YAML)
	return cmd
}

// explain shows what is known of the subject.
func (l *looking) explain(ctx context.Context, subject string, out commandline.Format) error {
	if l.scope.many() {
		return l.explainMany(ctx, subject, out)
	}
	v, err := l.lookInside(ctx)
	if err != nil {
		return err
	}
	e := explain(v, subject)
	if err := out.Print(l.Stdout, e, e.text(v.document)); err != nil {
		return err
	}
	if !e.Ready {
		return &exitError{code: ExitDifferent}
	}
	return nil
}

// oneSubject takes one argument, and says which where there is none.
func oneSubject(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("no node to explain: give the name or id of a node, or an address, for example `explain worker-1` or `explain 10.0.0.11`; `status` lists them")
	case 1:
		return nil
	}
	return fmt.Errorf("%d nodes to explain: give one node or address at a time", len(args))
}

// lookInside gets a view that knows nodes. The document of a standby without a
// leader, or of a daemon that has just started, knows none.
func (l *looking) lookInside(ctx context.Context) (shown, error) {
	v, err := l.look(ctx)
	if err != nil || v.raw == nil || v.document.Decided && !standsBy(v.document) {
		return v, err
	}
	l.say("The daemon knows no nodes: " + plain(progress(v.document)) + "; evaluating locally instead.")
	return l.evaluate(ctx)
}

// explanation is what is known of one node or address.
type explanation struct {
	APIVersion string `json:"apiVersion"`
	Subject    string `json:"subject"`
	// Found says that the source, or a slice, knows the subject, or did within
	// the last ten minutes.
	Found bool `json:"found"`
	// Ready says that an address of the subject is published ready.
	Ready bool `json:"ready"`
	// Daemon says that the daemon was asked.
	Daemon bool   `json:"daemon"`
	Mode   string `json:"mode"`
	// Removal is what further rejected inventories will remove, if anything.
	Removal *report.Removal `json:"removal,omitempty"`
	// Message is why nothing was found, Similar what may be meant instead.
	Message string          `json:"message,omitempty"`
	Similar []string        `json:"similar,omitempty"`
	Nodes   []explainedNode `json:"nodes"`
	// DecidedBy are the documents whose fields the messages name.
	DecidedBy []report.DecidedBy `json:"decidedBy,omitempty"`
}

// explainedNode is an entry of the document with the words of the reference.
type explainedNode struct {
	report.Node
	Meaning string `json:"meaning"`
	Remedy  string `json:"remedy"`
}

// explain picks the entries about the subject.
func explain(v shown, subject string) explanation {
	d := v.document
	e := explanation{APIVersion: report.APIVersion, Subject: subject, Daemon: v.raw != nil, Mode: d.Mode, Removal: d.Removal, Nodes: []explainedNode{}, DecidedBy: d.DecidedBy}
	docs := make(map[string]inventory.ReasonDoc)
	for _, doc := range inventory.Reasons() {
		docs[string(doc.Reason)] = doc
	}
	for _, n := range d.Find(subject) {
		e.Found = true
		names := d.Names(n.Pool)
		e.Ready = e.Ready || n.State == inventory.StateReady.String()
		e.Nodes = append(e.Nodes, explainedNode{
			Node: n, Meaning: names.Of(meaning(n, docs)), Remedy: names.Of(docs[n.Reason].Remedy),
		})
	}
	if !e.Found {
		e.Similar = similar(d.Nodes, subject)
		e.Message = fmt.Sprintf("the source lists %d nodes, and none is named %q or has it as id or address", d.Stages.Nodes, subject)
	}
	return e
}

// meaning is what the reference says of the entry's reason, except for an endpoint
// that is ready without any check.
func meaning(n report.Node, docs map[string]inventory.ReasonDoc) string {
	if n.Reason == string(inventory.Ready) && n.HealthCheck == nil {
		return "present; published ready without a check, because HEALTH_CHECK_MODE=off"
	}
	return docs[n.Reason].Meaning
}

// text renders the explanation for people.
func (e explanation) text(d *report.Document) string {
	var b strings.Builder
	switch {
	case !e.Found:
		fmt.Fprintf(&b, "%s is unknown: %s.\n", plain(e.Subject), plain(e.Message))
		if len(e.Similar) > 0 {
			fmt.Fprintf(&b, "Known are, for example: %s\n", plain(strings.Join(e.Similar, ", ")))
		}
	case e.Ready:
		fmt.Fprintf(&b, "%s is published ready.\n", plain(e.Subject))
	default:
		fmt.Fprintf(&b, "%s is not published ready.\n", plain(e.Subject))
	}
	for _, banner := range modeBanners(d) {
		fmt.Fprintln(&b, plain(banner))
	}
	for i, document := range e.DecidedBy {
		between := "Decided by "
		if i > 0 {
			between = ", "
		}
		b.WriteString(between + plain(document.String()))
	}
	if len(e.DecidedBy) > 0 {
		b.WriteString("\n")
	}
	for _, n := range e.Nodes {
		b.WriteString("\n")
		n.text(&b, d)
	}
	return b.String()
}

// text renders one entry: what it is, how it came to that, and what to do.
func (n explainedNode) text(b *strings.Builder, d *report.Document) {
	facts := newRows()
	facts.add("Node", strings.TrimSpace(n.Name+" "+n.ID))
	facts.add("Address", n.Address)
	facts.add("State", n.State+", "+n.Reason+" for "+dash(ageOf(d.At, n.Since)))
	facts.add("Means", n.Meaning)
	if p := n.HealthCheck; p != nil && !p.At.IsZero() {
		facts.add("Check", fmt.Sprintf("%s %d times in a row, the last %s in %s", p.Outcome, p.Streak, ago(d, p.At), latency(p)))
	}
	facts.add("Do", n.Remedy)
	trail := newRows("STAGE", "ADDRESS", "REASON", "MESSAGE")
	for _, decision := range n.Decisions {
		trail.add(decision.Stage, cmp.Or(decision.Address, n.Address), decision.Reason, decision.Message)
	}
	b.WriteString(facts.String() + "\n" + trail.String())
}
