package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Setting is the effective value of one variable.
type Setting struct {
	Variable string `json:"variable"`
	// Value is spelled as the environment would spell it; a secret is masked.
	Value string `json:"value"`
	// Unset says in words what an empty value stands for.
	Unset  string `json:"unset,omitempty"`
	Origin Origin `json:"origin"`
	Secret bool   `json:"secret"`
}

// Settings are the effective values of all variables, in the order of the
// reference.
type Settings []Setting

// MarshalJSON gives the list a version, as all documents have one.
func (s Settings) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		APIVersion string    `json:"apiVersion"`
		Settings   []Setting `json:"settings"`
	}{"v1", s})
}

// Describe returns the effective values with their origins. Secrets are masked;
// the twin that names a secret's file follows it.
func (c Config) Describe() Settings { return describe(variablesOf(&c), c.origins) }

// Describe is that of endpoint-views.
func (v Views) Describe() Settings { return describe(variablesOf(&v), v.origins) }

// describe returns the values of variables, which come from the origins.
func describe(variables []variable, origins map[string]Origin) Settings {
	from := func(name string) Origin { return cmp.Or(origins[name], FromDefault) }
	var settings Settings
	for _, v := range variables {
		secret, isSecret := v.secret()
		setting := Setting{Variable: v.name, Value: render(v), Origin: from(v.name), Secret: isSecret}
		if setting.Value == "" {
			setting.Unset = v.tags.Get("fallback")
		}
		settings = append(settings, setting)
		if isSecret {
			twin := v.name + fileSuffix
			settings = append(settings, Setting{Variable: twin, Value: secret.path, Origin: from(twin)})
		}
	}
	return settings
}

// String returns a table for people: variable, value, origin. A long value is cut; other
// forms of the settings have all of it.
func (s Settings) String() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VARIABLE\tVALUE\tORIGIN")
	for _, setting := range s {
		value := setting.Value
		if len(value) > maxShown || strings.ContainsFunc(value, func(r rune) bool { return !strconv.IsPrint(r) }) {
			value = Quote(value)
		}
		if setting.Unset != "" {
			value = "(" + setting.Unset + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", setting.Variable, value, setting.Origin)
	}
	// A strings.Builder cannot fail.
	_ = table.Flush()
	return text.String()
}

// render spells a field's value as the environment would. What is unset and has
// no default is empty.
func render(v variable) string {
	switch value := v.target().(type) {
	case *time.Duration:
		return FormatDuration(*value)
	case *int:
		if *value == 0 && v.tags.Get("default") == "" {
			return ""
		}
	case *[]string:
		return strings.Join(*value, ",")
	case *netip.AddrPort:
		if !value.IsValid() {
			return ""
		}
	}
	return fmt.Sprint(v.field.Interface())
}
