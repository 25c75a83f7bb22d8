package settings

import (
	"io"
	"reflect"
	"text/template"

	"github.com/kelseyhightower/envconfig"
)

// How envconfig is used here. Its tags name the variables of a struct, its
// Decoder is the interface of our types, and its Usaget walks the structs and
// hands us every field with name and tags: for loading, for "config show" and
// for the reference alike. Its Process is not called. That function reads the
// process' own environment, stops at the first mistake, prints raw values,
// lets a blank value override a default, and accepts list entries that decode
// to a zero value.

// variable is one environment variable and the field it fills.
type variable struct {
	name  string
	tags  reflect.StructTag
	field reflect.Value
}

// target returns a pointer to the field, for decoding.
func (v variable) target() any { return v.field.Addr().Interface() }

// secret returns the field if it holds a secret.
func (v variable) secret() (*Secret, bool) {
	secret, ok := v.target().(*Secret)
	return secret, ok
}

// fileSuffix makes the name of a secret's twin, which names a file that holds
// the secret.
const fileSuffix = "_FILE"

// gather lists the variables of a struct in the order of its fields. The name
// is taken from the tag alone (envconfig's Alt): with a prefix, envconfig would
// read two names for one field.
func gather(section any) []variable {
	var found []variable
	collect := func(name string, tags reflect.StructTag, field reflect.Value) string {
		found = append(found, variable{name: name, tags: tags, field: field})
		return ""
	}
	visit := template.Must(template.New("gather").
		Funcs(template.FuncMap{"collect": collect}).
		Parse(`{{range .}}{{collect .Alt .Tags .Field}}{{end}}`))
	if err := envconfig.Usaget("", section, io.Discard, visit); err != nil {
		// Only a section that is no pointer to a struct leads here.
		panic("config: " + err.Error())
	}
	return found
}

// variables lists all variables of the configuration, in the order of the
// reference.
func (c *Config) variables() []variable { return variablesOf(c.sections()) }

// variablesOf lists the variables of sections, in their order.
func variablesOf(sections []any) []variable {
	var all []variable
	for _, section := range sections {
		all = append(all, gather(section)...)
	}
	return all
}
