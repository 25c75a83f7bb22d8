package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// inventoryCommand shows the eligible nodes that the source lists.
func (p Program) inventoryCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "inventory",
		Short: "Print the eligible nodes as a JSON inventory; exit status 1 if there is none",
		Long: "Reads the source once and prints the nodes that may be published, with the\n" +
			"addresses that may be published, as a JSON array that SOURCE_KIND=file reads.\n" +
			"Says on standard error which nodes are not eligible. Checks no endpoint, and asks\n" +
			"neither the local API server nor a running daemon.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.loadOne()
			if err != nil {
				return err
			}
			ctx, cancel := within(cmd.Context(), timeout)
			defer cancel()
			nodes, err := p.readOnce(ctx, c)
			if err != nil {
				return ended(ctx, err)
			}
			return p.printInventory(nodes, c)
		},
	}
	timeoutFlag(cmd, &timeout)
	return cmd
}

// readOnce reads the source once, as the daemon would.
func (p Program) readOnce(ctx context.Context, c config.Config) (nodes []inventory.Node, err error) {
	b := &parts{config: c, version: p.Version}
	if b.metrics, err = b.newMetrics(); err != nil {
		return nil, err
	}
	if b.source, err = newSource(c, b.metrics); err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	err = b.with(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, c.Source.Timeout)
		defer cancel()
		var err error
		if nodes, err = b.source.Read(ctx); err != nil {
			return &syncer.SourceError{Err: err}
		}
		return nil
	})
	return nodes, err
}

// printInventory prints the eligible ones of nodes, and says of the others why
// they are not.
func (p Program) printInventory(nodes []inventory.Node, c config.Config) error {
	filtered := filter.Apply(nodes, rules(c))
	text, err := inventory.Encode(eligible(nodes, filtered.Candidates))
	if err != nil {
		return err
	}
	if _, err := p.Stdout.Write(text); err != nil {
		return err
	}
	spelling := target(c.Target).Spelling
	left := spelling.Of(leftOutOf(filtered.Decisions, len(nodes)))
	switch {
	case len(nodes) == 0:
		return &exitError{ExitDifferent, errors.New("the source lists no node; check what the source reads")}
	case len(filtered.Candidates) == 0:
		return &exitError{ExitDifferent, errors.New(sentences("No node is eligible.", left, spelling.Of(remedyOf(filtered.Decisions))))}
	case left != "":
		fmt.Fprintln(p.Stderr, left)
	}
	return nil
}

// eligible returns the nodes of the candidates, each with its eligible addresses
// only, sorted by name.
func eligible(nodes []inventory.Node, candidates []inventory.Candidate) []inventory.Node {
	addresses := make(map[inventory.Identity][]netip.Addr)
	for _, c := range candidates {
		addresses[c.Node] = append(addresses[c.Node], c.Address)
	}
	found := make(map[inventory.Identity]inventory.Node)
	for _, n := range nodes {
		if n.Addresses = addresses[n.Identity()]; len(n.Addresses) > 0 {
			n.Detail = ""
			found[n.Identity()] = n
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b inventory.Node) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}
