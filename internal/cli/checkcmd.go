package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// checkCommand tries the source once.
func (p Program) checkCommand() *cobra.Command {
	var timeout time.Duration
	var out format
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Try the source once and say, node by node, what was found or what is missing",
		Long: "Reads the configuration and the source once, changes and probes nothing, and\n" +
			"says for each node which addresses may be published, or what is missing and\n" +
			"the remedy. Exit status 1 if a ready worker has no address to publish, or no\n" +
			"node has.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.once(cmd, timeout, func(ctx context.Context, b *parts) error { return b.check(ctx, p, out) })
		},
	}
	timeoutFlag(cmd, &timeout)
	outputFlag(cmd, &out)
	return cmd
}

// checkReport is what check found.
type checkReport struct {
	Source string      `json:"source"`
	Nodes  int         `json:"nodes"`
	Usable int         `json:"usable"`
	OK     bool        `json:"ok"`
	Checks []nodeCheck `json:"checks"`
}

// nodeCheck is the result for one node or one of its addresses: ok, fail, or
// skip where the node is not meant to be published.
type nodeCheck struct {
	Result  string `json:"result"`
	Node    string `json:"node"`
	Address string `json:"address,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// The results of a check.
const (
	checkOK   = "ok"
	checkFail = "fail"
	checkSkip = "skip"
)

// check reads the source and prints what the filter makes of it.
func (b *parts) check(ctx context.Context, p Program, out format) error {
	ctx, cancel := context.WithTimeout(ctx, b.config.Source.Timeout)
	defer cancel()
	nodes, err := b.source.Read(ctx)
	if err != nil {
		return &syncer.SourceError{Err: err}
	}
	_, decisions := filter.Apply(nodes, rules(b.config))
	report := reportOn(decisions)
	report.Source, report.Nodes = string(b.config.Source.Kind), len(nodes)
	if err := out.print(p.Stdout, report, report.text()); err != nil {
		return err
	}
	if !report.OK {
		return &exitError{code: ExitDifferent}
	}
	return nil
}

// reportOn judges the filter's decisions. A node one of whose addresses may be
// published is fine, whatever its other addresses are.
func reportOn(decisions []inventory.Decision) checkReport {
	remedies := make(map[inventory.Reason]string)
	for _, doc := range inventory.Reasons() {
		remedies[doc.Reason] = doc.Remedy
	}
	usable := make(map[inventory.Identity]bool)
	for _, d := range decisions {
		if d.Reason == "" {
			usable[d.Node] = true
		}
	}
	report := checkReport{Usable: len(usable), OK: len(usable) > 0, Checks: make([]nodeCheck, 0, len(decisions))}
	for _, d := range decisions {
		c := nodeCheck{Result: checkOK, Node: d.Node.Name, Reason: string(d.Reason), Message: d.Message, Remedy: remedies[d.Reason]}
		if d.Address.IsValid() {
			c.Address = d.Address.String()
		}
		if d.Reason != "" {
			c.Result = severity(d.Reason, usable[d.Node])
		}
		report.OK = report.OK && c.Result != checkFail
		report.Checks = append(report.Checks, c)
	}
	return report
}

// severity tells what is wrong from what is as it should be: nodes that are not
// meant to be published, and further addresses of a node that has a good one.
func severity(reason inventory.Reason, usable bool) string {
	unwanted := reason == inventory.NodeNotReady || reason == inventory.NotWorker || reason == inventory.Excluded
	further := reason == inventory.OutsideSubnet || reason == inventory.ForbiddenAddress
	if unwanted || further && usable {
		return checkSkip
	}
	return checkFail
}

// text renders the report for people.
func (r checkReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Source %s: %d nodes read, %d of them usable.\n", r.Source, r.Nodes, r.Usable)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range r.Checks {
		message := c.Message
		if c.Result == checkFail {
			message += " -- " + c.Remedy
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.Result, c.Node, dash(c.Address), dash(c.Reason), message)
	}
	_ = table.Flush() // a strings.Builder cannot fail
	if r.Usable == 0 {
		b.WriteString("No node has an address to publish.\n")
	}
	return b.String()
}
