package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// inventoryCommand shows the eligible nodes that the source lists.
func (p Program) inventoryCommand() *cobra.Command {
	var timeout time.Duration
	var pool string
	cmd := &cobra.Command{
		Use:   "inventory [--pool NAME]",
		Short: "Print the eligible nodes as a JSON inventory; exit status 1 if there is none",
		Long: "Reads the source once and prints the nodes that may be published, with the\n" +
			"addresses that may be published, as a JSON array that SOURCE_KIND=file reads.\n" +
			"Says on standard error which nodes are not eligible. Checks no endpoint, and asks\n" +
			"neither the local API server nor a running daemon.\n\n" +
			"With DOCUMENTS_DIR it reads the source of one pool, which --pool names where there\n" +
			"are several.",
		Example: "  ionos-endpointslice-controller inventory\n" +
			"  ionos-endpointslice-controller inventory --pool blue",
		Args: cobra.NoArgs,
		RunE: p.configured(&timeout, func(ctx context.Context, c settings.Config) error {
			return ended(ctx, p.inventory(ctx, c, pool))
		}),
	}
	cmd.Flags().StringVar(&pool, "pool", "", "the EndpointPool whose source is read, with DOCUMENTS_DIR")
	timeoutFlag(cmd, &timeout)
	return cmd
}

// inventory reads the source of the variables or, with documents, of one pool, as the
// daemon would, and prints what it lists.
func (p Program) inventory(ctx context.Context, c settings.Config, name string) error {
	if name != "" && !c.Documents.Used() {
		return commandline.Exit(ExitUsage, errors.New("--pool names a pool of DOCUMENTS_DIR, which is not set: this configuration has one source, so leave --pool out"))
	}
	r, err := p.reach(ctx, c)
	if err != nil {
		return err
	}
	pool, err := choosePool(r.set, name)
	if err != nil {
		return commandline.Exit(ExitUsage, err)
	}
	var names naming.Names
	about := ""
	if c.Documents.Used() {
		names, about = naming.Names{Spelling: naming.Fields, Pool: pool.Name}, "pool "+pool.Name+": "
	}
	source, err := r.source(pool)
	if err != nil {
		return commandline.Exit(ExitUsage, errors.New(about+names.Of(err.Error())))
	}
	bound, cancel := context.WithTimeout(ctx, c.Source.Timeout)
	defer cancel()
	nodes, err := source.Read(bound)
	if err != nil {
		return fmt.Errorf("%s%w", about, &controller.SourceError{Err: err})
	}
	return p.printInventory(nodes, source.Rules, names)
}

// choosePool returns the pool of that name, or the only one where there is no name.
func choosePool(set documents.Set, name string) (*v1alpha1.EndpointPool, error) {
	pools := set.Pools()
	var names []string
	for _, pool := range pools {
		if names = append(names, pool.Name); pool.Name == name {
			return pool, nil
		}
	}
	switch {
	case len(pools) == 0:
		return nil, errors.New("the documents have no valid pool; `config validate` says what is wrong with them")
	case name != "":
		return nil, fmt.Errorf("no valid document is the pool %s; the pools are %s", name, strings.Join(names, ", "))
	case len(pools) == 1:
		return pools[0], nil
	}
	return nil, fmt.Errorf("the documents have %d pools, and a command reads one: name it with --pool, as one of %s", len(pools), strings.Join(names, ", "))
}

// printInventory prints the eligible ones of the nodes, and says of the others why
// they are not.
func (p Program) printInventory(nodes []inventory.Node, rules filter.Rules, names naming.Names) error {
	filtered := filter.Apply(nodes, rules)
	text, err := inventory.Encode(eligible(nodes, filtered.Candidates))
	if err != nil {
		return err
	}
	if _, err := p.Stdout.Write(text); err != nil {
		return err
	}
	left := names.Of(leftOutOf(filtered.Decisions, len(nodes)))
	switch {
	case len(nodes) == 0:
		return commandline.Exit(ExitDifferent, errors.New("the source lists no node; check what the source reads"))
	case len(filtered.Candidates) == 0:
		return commandline.Exit(ExitDifferent, errors.New(sentences("No node is eligible.", left, names.Of(remedyOf(filtered.Decisions)))))
	case left != "":
		fmt.Fprintln(p.Stderr, plain(left))
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
