package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
)

// configCommand shows, checks and explains the configuration.
func (p Program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, validate or explain the configuration",
		Args:  knownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var out format
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the effective values and where each comes from; secrets are masked",
		Args:  cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			c, err := p.load()
			if err != nil {
				return err
			}
			settings := c.Describe()
			return out.print(p.Stdout, settings, settings.String())
		},
	}
	outputFlag(show, &out)
	validate := &cobra.Command{
		Use:   "validate",
		Short: "Report every mistake of the configuration; exit status 2 if there is one",
		Args:  cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			c, err := p.load()
			if err != nil {
				return err
			}
			for _, warning := range c.Warnings() {
				fmt.Fprintln(p.Stderr, "warning:", warning.Error())
			}
			_, err = fmt.Fprintln(p.Stdout, "The configuration is valid.")
			return err
		},
	}
	docs := &cobra.Command{
		Use:   "docs",
		Short: "Print the reference of all variables as Markdown",
		Args:  cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(p.Stdout, config.Reference())
			return err
		},
	}
	cmd.AddCommand(show, validate, docs)
	return cmd
}
