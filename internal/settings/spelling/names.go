package spelling

import "strings"

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
	if n.Spelling == Variables || !strings.Contains(text, "_") {
		return text
	}
	var b strings.Builder
	done := 0
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && inName(text[end]) {
			end++
		}
		if end == at {
			at++
			continue
		}
		if known, ok := byVariable[text[at:end]]; ok {
			b.WriteString(text[done:at])
			b.WriteString(n.name(known))
			end = value(&b, known, text, end)
			done = end
		}
		at = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

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

// kind is that of the object that decided. What no pool and no annotation can say is the
// binding's, also where there is none yet.
func (n Names) kind(known Setting) Kind {
	switch {
	case known.OnlyPool():
		return Pool
	case known.Annotation == "":
		return Binding
	case n.CheckBy == "" && n.Spelling == Annotations:
		return Service
	}
	return n.CheckBy
}

// value writes the value that follows a name, if the reader spells it otherwise,
// and returns where the rest of the text begins.
func value(b *strings.Builder, known Setting, text string, at int) int {
	if at == len(text) || text[at] != '=' {
		return at
	}
	end := at + 1
	for end < len(text) && inName(text[end]) {
		end++
	}
	for _, w := range known.Words {
		if text[at+1:end] == w.Variable {
			b.WriteString("=" + w.Document)
			return end
		}
	}
	return at
}

// inName reports whether the byte may be part of a variable's name, or of any
// word that a variable's name may be only a part of.
func inName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
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
