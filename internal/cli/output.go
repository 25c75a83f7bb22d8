package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// format is the form of a command's data: -o text, json or yaml, and for some
// commands wide, which is text with everything in it.
type format string

const (
	text   format = "text"
	wide   format = "wide"
	asJSON format = "json"
	asYAML format = "yaml"
	// asDocuments is the configuration as pools and bindings.
	asDocuments format = "documents"
)

const flagName = "output"

// formatFlag takes one of some formats.
type formatFlag struct {
	format  *format
	choices []string
}

// String returns the value of the flag.
func (f formatFlag) String() string {
	if f.format == nil {
		return ""
	}
	return string(*f.format)
}

// Set takes the value of the flag.
func (f formatFlag) Set(value string) error {
	if !slices.Contains(f.choices, value) {
		last := len(f.choices) - 1
		return fmt.Errorf("has to be %s or %s", strings.Join(f.choices[:last], ", "), f.choices[last])
	}
	*f.format = format(value)
	return nil
}

// Type names the flag's value in the help.
func (f formatFlag) Type() string { return strings.Join(f.choices, "|") }

// outputFlag adds -o to a command.
func outputFlag(cmd *cobra.Command, f *format) { chooseOutput(cmd, f, text, asJSON, asYAML) }

// chooseOutput adds -o with other choices, the first of which is the default.
func chooseOutput(cmd *cobra.Command, f *format, choices ...format) {
	flag := formatFlag{format: f}
	for _, c := range choices {
		flag.choices = append(flag.choices, string(c))
	}
	*f = choices[0]
	cmd.Flags().VarP(flag, flagName, "o", "form of the output")
	_ = cmd.RegisterFlagCompletionFunc(flagName, cobra.FixedCompletions(flag.choices, cobra.ShellCompDirectiveNoFileComp))
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
	case text, wide, asDocuments:
		rendered = []byte(asText)
	}
	if err != nil {
		return fmt.Errorf("render output: %w", err)
	}
	_, err = out.Write(rendered)
	return err
}
