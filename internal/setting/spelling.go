package setting

import "strings"

// Spelling is how the reader of one target's messages spells settings.
type Spelling uint8

// The spellings.
const (
	// Variables is for a target that is configured by environment variables.
	Variables Spelling = iota
	// Fields is for one that is configured by an EndpointBinding.
	Fields
	// Annotations is for one that is configured by annotations on its Service:
	// what has no annotation is a field of the pool.
	Annotations
)

// String returns the word that JSON uses.
func (s Spelling) String() string {
	switch s {
	case Fields:
		return "Fields"
	case Annotations:
		return "Annotations"
	case Variables:
	}
	return "Variables"
}

// MarshalText returns the word that JSON uses.
func (s Spelling) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the reverse of MarshalText. A word that only a newer program
// knows becomes Variables: that program has spelled its messages already.
func (s *Spelling) UnmarshalText(text []byte) error {
	*s = Variables
	for _, known := range []Spelling{Variables, Fields, Annotations} {
		if string(text) == known.String() {
			*s = known
		}
	}
	return nil
}

// Of returns a message in which every variable of All is spelled as the reader
// spells it, with its value where the value is spelled otherwise too. Variables
// leaves every text as it is, at no cost.
func (s Spelling) Of(text string) string { return s.Naming(text, nil) }

// Owner names the document that has a setting, as in "EndpointPool blue"; it returns
// nothing where that is not known.
type Owner func(Setting) string

// Naming is Of with the document before each field: "EndpointPool blue spec.subnets". An
// annotation is the Service's own.
func (s Spelling) Naming(text string, owner Owner) string {
	if s == Variables || !strings.Contains(text, "_") {
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
		if known, ok := byVariable[text[at:end]]; ok && known.Field != "" {
			b.WriteString(text[done:at])
			b.WriteString(s.name(known, owner))
			end = s.value(&b, known, text, end)
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

// name is the setting as the reader spells it.
func (s Spelling) name(known Setting, owner Owner) string {
	if s == Annotations && known.Annotation != "" {
		return Group + "/" + known.Annotation
	}
	if owner != nil {
		return strings.TrimSpace(owner(known) + " " + known.Field)
	}
	return known.Field
}

// value writes the value that follows a name, if the reader spells it otherwise,
// and returns where the rest of the text begins.
func (s Spelling) value(b *strings.Builder, known Setting, text string, at int) int {
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

// byVariable finds a setting.
var byVariable = func() map[string]Setting {
	all := make(map[string]Setting)
	for _, known := range All() {
		all[known.Variable] = known
	}
	return all
}()
