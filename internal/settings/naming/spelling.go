package naming

// Spelling is how the reader of one target's messages spells settings.
type Spelling uint8

// The spellings.
const (
	// Variables is for a target that is configured by environment variables.
	Variables Spelling = iota
	// Fields is for one that an EndpointBinding asks for.
	Fields
	// Annotations is for one that the annotations of its Service ask for.
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
