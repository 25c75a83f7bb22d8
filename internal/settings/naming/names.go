package naming

import (
	"cmp"
	"regexp"
	"strings"
)

// Kind is a kind of object that has settings.
type Kind string

// The kinds.
const (
	Pool    Kind = "EndpointPool"
	Binding Kind = "EndpointBinding"
	// Service is the Service itself, by its annotations.
	Service Kind = "Service"
	// Environment are the variables of the program.
	Environment Kind = "environment"
)

// Names says how messages about a target name settings: the object that decided, then its
// field or annotation, as in "EndpointPool blue spec.subnets". It is the only place that
// knows which object that is. The zero Names leaves variables as they are.
type Names struct {
	Spelling Spelling
	// Pool is the name of the pool, and Target that of the Service and its binding, as in
	// "shop/web". Each is empty where it is not known: then the field stands alone.
	Pool, Target string
	// CheckBy is what says how endpoints are checked; all that has an annotation. It is
	// empty where that is not known.
	CheckBy Kind
}

// Of returns a message in which every variable of All is named as its reader can find it,
// with its value where the value is spelled otherwise too. Variables leaves every text as
// it is, at no cost.
func (n Names) Of(text string) string {
	if n.Spelling != Fields && n.Spelling != Annotations || !strings.Contains(text, "_") {
		return text
	}
	return settingForm.ReplaceAllStringFunc(text, func(found string) string {
		name, value, _ := strings.Cut(found, "=")
		known, ok := byVariable[name]
		if !ok {
			return found
		}
		for _, w := range known.Words {
			if value == w.Variable {
				return n.name(known) + "=" + w.Document
			}
		}
		return n.name(known) + strings.TrimPrefix(found, name)
	})
}

// settingForm is a word that may be a variable, with the word that may be its value.
var settingForm = regexp.MustCompile(`\b[A-Z]+_[A-Z_]+\b(=\w+)?`)

// name is the object that decided a setting, and what the object calls it.
func (n Names) name(known Setting) string {
	kind, object, field := n.kind(known), n.Target, known.Field
	switch kind {
	case Pool:
		object = n.Pool
	case Service:
		field = Group + "/" + known.Annotation
	case Binding, Environment:
	}
	if kind == "" || object == "" {
		return field
	}
	return string(kind) + " " + object + " " + field
}

// kind is that of the object that decided. What is the binding's is so also where there is
// none yet.
func (n Names) kind(known Setting) Kind {
	switch {
	case known.Annotation == "":
		return cmp.Or(known.Kind, Pool)
	case n.CheckBy == "" && n.Spelling == Annotations:
		return Service
	}
	return n.CheckBy
}

// Field is the field of a document that replaces a variable; empty where it stays one.
func Field(variable string) string { return byVariable[variable].Field }

// byVariable finds a setting.
var byVariable = func() map[string]Setting {
	all := make(map[string]Setting)
	for _, known := range All() {
		all[known.Variable] = known
	}
	return all
}()
