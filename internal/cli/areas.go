package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/preflight"
)

// areaFlag takes areas of check, with commas between them or one at a time.
type areaFlag struct{ areas *[]preflight.Section }

// onlyFlag adds --only to a command.
func onlyFlag(cmd *cobra.Command, areas *[]preflight.Section) {
	names := strings.Split(areaNames(), ", ")
	cmd.Flags().Var(areaFlag{areas}, "only", "check only these areas: "+areaNames())
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// areaNames lists all areas.
func areaNames() string {
	var names []string
	for _, area := range preflight.Sections() {
		names = append(names, string(area))
	}
	return strings.Join(names, ", ")
}

// String returns the value of the flag.
func (f areaFlag) String() string {
	if f.areas == nil || len(*f.areas) == 0 {
		return ""
	}
	return fmt.Sprint(*f.areas)
}

// Set takes the value of the flag.
func (f areaFlag) Set(value string) error {
	for name := range strings.SplitSeq(value, ",") {
		area := preflight.Section(strings.TrimSpace(name))
		if !slices.Contains(preflight.Sections(), area) {
			return unknownArea(string(area))
		}
		*f.areas = append(*f.areas, area)
	}
	return nil
}

// Type names the flag's value in the help.
func (f areaFlag) Type() string { return "AREA,..." }

// unknownArea lists the areas, and proposes those that the name is like or
// begins.
func unknownArea(name string) error {
	var meant []string
	lower := strings.ToLower(name)
	for _, area := range preflight.Sections() {
		if name != "" && (strings.HasPrefix(string(area), lower) || levenshtein.ComputeDistance(lower, string(area)) <= commandline.MostLetters) {
			meant = append(meant, string(area))
		}
	}
	if len(meant) > 0 {
		return fmt.Errorf("%q is no area; did you mean %s? The areas are %s", name, strings.Join(meant, " or "), areaNames())
	}
	return fmt.Errorf("%q is no area; the areas are %s", name, areaNames())
}
