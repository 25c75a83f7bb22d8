package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

// onlyFlag adds --only to a command. It takes areas of check, with commas between them or
// one at a time.
func onlyFlag(cmd *cobra.Command, areas *[]string) {
	all := strings.Join(preflight.Areas(), ", ")
	cmd.Flags().Func("only", "check only these `areas`: "+all, func(value string) error {
		for area := range strings.SplitSeq(value, ",") {
			if !slices.Contains(preflight.Areas(), area) {
				return fmt.Errorf("%q is no area; the areas are %s", area, all)
			}
			*areas = append(*areas, area)
		}
		return nil
	})
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(preflight.Areas(), cobra.ShellCompDirectiveNoFileComp))
}
