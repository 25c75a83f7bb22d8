package settings

import "reflect"

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

// variables lists all variables of the configuration, in the order of the
// reference.
func (c *Config) variables() []variable { return variablesOf(c.sections()...) }

// variablesOf lists the variables of sections in the order of their fields: each field
// with the tag env is one.
func variablesOf(sections ...any) []variable {
	var all []variable
	for _, section := range sections {
		for field, value := range reflect.ValueOf(section).Elem().Fields() {
			if name := field.Tag.Get("env"); name != "" {
				all = append(all, variable{name, field.Tag, value})
			}
		}
	}
	return all
}
