package cache

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind is what a watch tells of.
type Kind int

// The kinds that are joined.
const (
	Services Kind = iota
	Slices
	kinds
)

// String is what a person calls the kind.
func (k Kind) String() string {
	if k == Services {
		return "Services"
	}
	return "EndpointSlices"
}

// Revision is a resourceVersion. Those of one kind are comparable.
type Revision uint64

// ParseRevision reads a resourceVersion.
func ParseRevision(text string) (Revision, error) {
	revision, err := strconv.ParseUint(text, 10, 64)
	if err != nil || revision == 0 {
		return 0, fmt.Errorf("resourceVersion %q is no number above 0, and cannot be compared", text)
	}
	return Revision(revision), nil
}

// Position is how far the watches of one scope are.
type Position [kinds]Revision

// covers reports whether nothing at the other position is later.
func (p Position) covers(other Position) bool {
	return p[Services] >= other[Services] && p[Slices] >= other[Slices]
}

// join is the first position that covers both.
func (p Position) join(other Position) Position {
	return Position{max(p[Services], other[Services]), max(p[Slices], other[Slices])}
}

// Token is a position for each scope, in their order.
type Token []Position

// ErrToken says that a text is no token of a cache with these scopes.
var ErrToken = errors.New("is no resourceVersion of this server")

// String is the token as clients give it back: 12.34, with _ between scopes.
func (t Token) String() string {
	parts := make([]string, len(t))
	for i, p := range t {
		parts[i] = fmt.Sprintf("%d.%d", p[Services], p[Slices])
	}
	return strings.Join(parts, "_")
}

// ParseToken reads a token of so many scopes.
func ParseToken(text string, scopes int) (Token, error) {
	parts := strings.Split(text, "_")
	if len(parts) != scopes {
		return nil, ErrToken
	}
	token := make(Token, scopes)
	for i, part := range parts {
		services, slices, found := strings.Cut(part, ".")
		s, err := strconv.ParseUint(services, 10, 64)
		e, err2 := strconv.ParseUint(slices, 10, 64)
		if !found || err != nil || err2 != nil {
			return nil, ErrToken
		}
		token[i] = Position{Revision(s), Revision(e)}
	}
	return token, nil
}
