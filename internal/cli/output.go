package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// format is the form of a command's data: -o text, json or yaml.
type format string

const (
	text     format = "text"
	asJSON   format = "json"
	asYAML   format = "yaml"
	formats         = "text, json or yaml"
	flagName        = "output"
)

// String returns the value of the flag.
func (f *format) String() string { return string(*f) }

// Set takes the value of the flag.
func (f *format) Set(value string) error {
	switch format(value) {
	case text, asJSON, asYAML:
		*f = format(value)
		return nil
	}
	return fmt.Errorf("has to be %s", formats)
}

// Type names the flag's value in the help.
func (f *format) Type() string { return "text|json|yaml" }

// outputFlag adds -o to a command.
func outputFlag(cmd *cobra.Command, f *format) {
	*f = text
	cmd.Flags().VarP(f, flagName, "o", "form of the output")
	_ = cmd.RegisterFlagCompletionFunc(flagName, cobra.FixedCompletions([]string{string(text), string(asJSON), string(asYAML)}, cobra.ShellCompDirectiveNoFileComp))
}

// print writes data in the form asked for; asText is its text form.
func (f *format) print(out io.Writer, data any, asText string) error {
	var rendered []byte
	var err error
	switch *f {
	case asJSON:
		rendered, err = json.MarshalIndent(data, "", "  ")
		rendered = append(rendered, '\n')
	case asYAML:
		rendered, err = yaml.Marshal(data)
	case text:
		rendered = []byte(asText)
	}
	if err != nil {
		return fmt.Errorf("render output: %w", err)
	}
	_, err = out.Write(rendered)
	return err
}
