package commandline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Format is the form of a command's data, which -o asks for.
type Format string

// The forms. Wide is text with everything in it, for some commands.
const (
	Text Format = "text"
	Wide Format = "wide"
	JSON Format = "json"
	YAML Format = "yaml"
	// Documents is a configuration as pools and bindings.
	Documents Format = "documents"
)

// flagName is the long form of -o.
const flagName = "output"

// formatFlag takes one of some formats.
type formatFlag struct {
	format  *Format
	choices []string
}

// String returns the value of the flag.
func (f formatFlag) String() string { return string(*f.format) }

// Set takes the value of the flag.
func (f formatFlag) Set(value string) error {
	if !slices.Contains(f.choices, value) {
		last := len(f.choices) - 1
		return fmt.Errorf("has to be %s or %s", strings.Join(f.choices[:last], ", "), f.choices[last])
	}
	*f.format = Format(value)
	return nil
}

// Type names the flag's value in the help.
func (f formatFlag) Type() string { return strings.Join(f.choices, "|") }

// OutputFlag adds -o to a command, with text, JSON and YAML.
func OutputFlag(cmd *cobra.Command, f *Format) { ChooseOutput(cmd, f, Text, JSON, YAML) }

// ChooseOutput adds -o with other choices, the first of which is the default.
func ChooseOutput(cmd *cobra.Command, f *Format, choices ...Format) {
	flag := formatFlag{format: f}
	for _, c := range choices {
		flag.choices = append(flag.choices, string(c))
	}
	*f = choices[0]
	cmd.Flags().VarP(flag, flagName, "o", "form of the output")
	_ = cmd.RegisterFlagCompletionFunc(flagName, cobra.FixedCompletions(flag.choices, cobra.ShellCompDirectiveNoFileComp))
}

// Print writes data in the form asked for; asText is its text form.
func (f *Format) Print(out io.Writer, data any, asText string) error {
	var rendered []byte
	var err error
	switch *f {
	case JSON:
		rendered, err = visible(data, escapedInJSON)
	case YAML:
		// What YAML would print as it is, or cannot print, is spelled as in JSON, which is
		// YAML too.
		if rendered, err = yaml.Marshal(data); err != nil || bytes.ContainsFunc(rendered, hidden) {
			rendered, err = visible(data, escapedInYAML)
		}
	case Text, Wide, Documents:
		rendered = []byte(asText)
	}
	if err != nil {
		return fmt.Errorf("render output: %w", err)
	}
	_, err = out.Write(rendered)
	return err
}

// visible spells data as JSON, with escapes in place of what a terminal does not show, or
// shows elsewhere.
func visible(data any, escape func(rune) string) ([]byte, error) {
	rendered, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, r := range string(rendered) {
		if hidden(r) {
			out = append(out, escape(r)...)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '\n'), nil
}

// escapedInJSON spells a character in a string of JSON.
func escapedInJSON(r rune) string {
	text := ""
	for _, unit := range utf16.Encode([]rune{r}) {
		text += fmt.Sprintf(`\u%04x`, unit)
	}
	return text
}

// escapedInYAML spells a character in a quoted string of YAML, which knows no pairs.
func escapedInYAML(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

// hidden reports whether a terminal does not show the character in its place.
func hidden(r rune) bool { return !strconv.IsPrint(r) && r != '\n' }
