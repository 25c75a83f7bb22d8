package commandline

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// Configuration is what the command config shows of a configuration that is valid.
type Configuration interface {
	Describe() settings.Settings
	Warnings() []settings.Mistake
}

// Config is what the command config needs.
type Config[C Configuration] struct {
	// Load reads the configuration; its error reports every mistake.
	Load func() (C, error)
	// Reference returns the reference of all variables as Markdown.
	Reference func() string
	// Documents prints the configuration as documents, for -o documents, which
	// ShowHelp explains; nil where there is no such form.
	Documents func(ctx context.Context, loaded C) error
	ShowHelp  string
	// Found looks at what a valid configuration names, and says what it found, such as
	// "with 1 pool"; nil where it names nothing to look at.
	Found func(ctx context.Context, loaded C) (string, error)
	// Stdout takes data, Stderr warnings.
	Stdout, Stderr io.Writer
}

// Command shows, checks and explains the configuration.
func (c Config[C]) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, validate or explain the configuration",
		Args:  Known,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.show(), c.validate(), &cobra.Command{
		Use:   "docs",
		Short: "Print the reference of all variables as Markdown",
		Args:  cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(c.Stdout, c.Reference())
			return err
		},
	})
	return cmd
}

func (c Config[C]) show() *cobra.Command {
	var out Format
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the effective values and where each comes from; secrets are masked",
		Long:  c.ShowHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := c.Load()
			if err != nil {
				return err
			}
			if out == Documents {
				return c.Documents(cmd.Context(), loaded)
			}
			values := loaded.Describe()
			return out.Print(c.Stdout, values, values.String())
		},
	}
	if c.Documents == nil {
		OutputFlag(cmd, &out)
	} else {
		ChooseOutput(cmd, &out, Text, JSON, YAML, Documents)
	}
	return cmd
}

func (c Config[C]) validate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Report every mistake of the configuration; exit status 2 if there is one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := c.Load()
			if err != nil {
				return err
			}
			for _, warning := range loaded.Warnings() {
				fmt.Fprintln(c.Stderr, "warning:", warning.Error())
			}
			found := ""
			if c.Found != nil {
				if found, err = c.Found(cmd.Context(), loaded); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(c.Stdout, "The configuration is valid%s.\n", found)
			return err
		},
	}
}
