package naming

// Spelling is how the reader of one target's messages spells settings. One that only a
// newer program knows changes no text: that program has spelled its messages already.
type Spelling string

// The spellings.
const (
	// Variables is for a target that is configured by environment variables.
	Variables Spelling = ""
	// Fields is for one that an EndpointBinding asks for.
	Fields Spelling = "Fields"
	// Annotations is for one that the annotations of its Service ask for.
	Annotations Spelling = "Annotations"
)
