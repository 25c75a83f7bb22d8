package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
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
		Long: "Prints the effective values and where each comes from. Secrets are masked.\n\n" +
			"With -o documents, prints the variables as an EndpointPool and an EndpointBinding\n" +
			"that decide the same; what has no field is in comments. With DOCUMENTS_DIR, prints\n" +
			"the documents with their defaults.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load()
			if err != nil {
				return err
			}
			if out == asDocuments {
				return p.showDocuments(cmd.Context(), c)
			}
			settings := c.Describe()
			return out.print(p.Stdout, settings, settings.String())
		},
	}
	chooseOutput(show, &out, text, asJSON, asYAML, asDocuments)
	docs := &cobra.Command{
		Use:   "docs",
		Short: "Print the reference of all variables as Markdown",
		Args:  cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(p.Stdout, config.Reference())
			return err
		},
	}
	cmd.AddCommand(show, p.validateCommand(), docs)
	return cmd
}

// validateCommand reports the mistakes of the variables, and of the documents where they
// name a folder of them.
func (p Program) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Report every mistake of the configuration and its documents; exit status 2 if there is one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load()
			if err != nil {
				return err
			}
			for _, warning := range c.Warnings() {
				fmt.Fprintln(p.Stderr, "warning:", warning.Error())
			}
			said := "The configuration is valid."
			if c.Documents.Used() {
				set := documentsOf(cmd.Context(), c)
				if len(set.Mistakes) > 0 {
					return &exitError{ExitUsage, documents.Mistakes(set.Mistakes)}
				}
				said = fmt.Sprintf("The configuration is valid, with %s and %s.", plural(len(set.Pools()), "pool"), plural(len(set.Bindings()), "binding"))
			}
			_, err = fmt.Fprintln(p.Stdout, said)
			return err
		},
	}
}
