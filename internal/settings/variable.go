package settings

import (
	"io"
	"reflect"
	"text/template"

	"github.com/kelseyhightower/envconfig"
)

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

// variablesOf lists the variables of a configuration, or of a part of one, in the order of its
// fields, which is that of the reference. Of envconfig this
// takes the walk over fields alone: its Process reads the process' own environment, stops at the
// first mistake, prints raw values and lets a blank value override a default.
func variablesOf(config any) []variable {
	var all []variable
	collect := func(name string, tags reflect.StructTag, field reflect.Value) string {
		all = append(all, variable{name, tags, field})
		return ""
	}
	visit := template.Must(template.New("").Funcs(template.FuncMap{"collect": collect}).
		Parse(`{{range .}}{{collect .Alt .Tags .Field}}{{end}}`))
	if err := envconfig.Usaget("", config, io.Discard, visit); err != nil {
		panic("settings: " + err.Error()) // only what is no pointer to a struct leads here
	}
	return all
}
