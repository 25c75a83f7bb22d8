package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// onlyFlag adds --only to a command. It takes areas of check, with commas between them or
// one at a time.
func onlyFlag(cmd *cobra.Command, areas *[]preflight.Section) {
	cmd.Flags().Func("only", "check only these `areas`: "+strings.Join(areaNames(), ", "), func(value string) error {
		for name := range strings.SplitSeq(value, ",") {
			area := preflight.Section(strings.TrimSpace(name))
			if !slices.Contains(preflight.Sections(), area) {
				return unknownArea(string(area))
			}
			*areas = append(*areas, area)
		}
		return nil
	})
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(areaNames(), cobra.ShellCompDirectiveNoFileComp))
}

// areaNames lists all areas.
func areaNames() []string {
	var names []string
	for _, area := range preflight.Sections() {
		names = append(names, string(area))
	}
	return names
}

// unknownArea lists the areas, and proposes the one that was probably meant.
func unknownArea(name string) error {
	all := strings.Join(areaNames(), ", ")
	if near := settings.Nearest(strings.ToLower(name), areaNames()); near != "" && name != "" {
		return fmt.Errorf("%q is no area; did you mean %s? The areas are %s", name, near, all)
	}
	return fmt.Errorf("%q is no area; the areas are %s", name, all)
}
