package events

import (
	"fmt"
	"sort"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// maxNote is the most bytes that a server accepts as a note.
const maxNote = 1024

// note spells a notice within maxNote. Where its lists are too long each shows as
// many items as fit, the same number of every list, and how many more there are;
// no item is ever cut.
func note(i item) string {
	left := ""
	if i.leftOut > 0 {
		left = fmt.Sprintf("; %d Events of this reason were left out before", i.leftOut)
	}
	longest := 0
	for _, list := range i.Lists {
		longest = max(longest, len(list.Items))
	}
	// One more item makes the text no shorter, but for the last one.
	if text := spell(i, longest) + left; len(text) <= maxNote {
		return text
	}
	few := sort.Search(longest, func(n int) bool { return len(spell(i, n)+left) > maxNote }) - 1
	if few < 0 {
		return transport.Cut(transport.Printable(i.Note), maxNote-len(left)) + left
	}
	return spell(i, few) + left
}

// spell spells the note and at most so many items of each of its lists.
func spell(i item, items int) string {
	var b strings.Builder
	b.WriteString(transport.Printable(i.Note))
	for _, list := range i.Lists {
		shown := min(items, len(list.Items))
		fmt.Fprintf(&b, "; %s %s", list.Name, strings.Join(list.Items[:shown], ", "))
		if more := len(list.Items) - shown; more > 0 {
			fmt.Fprintf(&b, " ... and %d more", more)
		}
	}
	return b.String()
}
