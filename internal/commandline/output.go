package commandline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
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

// OutputFlag adds -o to a command, with text, JSON and YAML.
func OutputFlag(cmd *cobra.Command, f *Format) { ChooseOutput(cmd, f, Text, JSON, YAML) }

// ChooseOutput adds -o with other choices, the first of which is the default.
func ChooseOutput(cmd *cobra.Command, f *Format, choices ...Format) {
	var words []string
	for _, c := range choices {
		words = append(words, string(c))
	}
	*f = choices[0]
	cmd.Flags().FuncP(flagName, "o", "print as `"+strings.Join(words, "|")+"` (default "+words[0]+")", func(value string) error {
		if !slices.Contains(words, value) {
			return errors.New("has to be " + settings.Listed(words, "or"))
		}
		*f = Format(value)
		return nil
	})
	_ = cmd.RegisterFlagCompletionFunc(flagName, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// Print writes data in the form asked for; asText is its text form.
func (f *Format) Print(out io.Writer, data any, asText string) error {
	var rendered []byte
	var err error
	switch *f {
	case JSON:
		rendered, err = json.MarshalIndent(data, "", "  ")
		rendered = visible(rendered, escapedInJSON)
	case YAML:
		// What YAML would print as it is, or cannot print, is spelled as in JSON, which is
		// YAML too.
		if rendered, err = yaml.Marshal(data); err != nil || bytes.ContainsFunc(rendered, hidden) {
			rendered, err = json.MarshalIndent(data, "", "  ")
			rendered = visible(rendered, escapedInYAML)
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

// PrintNext writes one of several data in the form asked for: JSON in one line, YAML as a
// document of its own.
func (f *Format) PrintNext(out io.Writer, data any) error {
	if *f != JSON {
		if _, err := io.WriteString(out, "---\n"); err != nil {
			return err
		}
		return f.Print(out, data, "")
	}
	rendered, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("render output: %w", err)
	}
	_, err = out.Write(visible(rendered, escapedInJSON))
	return err
}

// visible ends JSON, and puts escapes in place of what a terminal does not show, or shows
// elsewhere.
func visible(rendered []byte, escape func(rune) string) []byte {
	var out []byte
	for _, r := range string(rendered) {
		if hidden(r) {
			out = append(out, escape(r)...)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '\n')
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
