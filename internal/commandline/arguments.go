package commandline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// MostLetters is how many letters a word may be mistaken in and is still
// recognised.
const MostLetters = 2

// Known takes no argument: an argument here is an unknown subcommand. It proposes the
// most similar commands.
func Known(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = MostLetters
	message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		return fmt.Errorf("%s; did you mean %s?", message, strings.Join(meant, " or "))
	}
	return fmt.Errorf("%s; `%s --help` lists the commands", message, cmd.CommandPath())
}
