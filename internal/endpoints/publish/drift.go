package publish

import (
	"fmt"
	"strings"
)

// The text of a drift is for people: the first differences tell what happened,
// and a slice may hold a thousand endpoints that differ alike.
const (
	maxDifferences = 3
	maxForeignText = 80 // bytes of a foreign value that a message repeats
)

// drift collects what in a slice differs from what we would write.
type drift struct {
	differences []string
	more        int
}

func (d *drift) add(format string, values ...any) {
	if len(d.differences) == maxDifferences {
		d.more++
		return
	}
	d.differences = append(d.differences, fmt.Sprintf(format, values...))
}

// String is empty when nothing differs.
func (d *drift) String() string {
	text := strings.Join(d.differences, "; ")
	if d.more > 0 {
		text += fmt.Sprintf("; and %d more", d.more)
	}
	return text
}

// bounded cuts a foreign value for a message.
func bounded(text string) string {
	if len(text) <= maxForeignText {
		return text
	}
	return strings.ToValidUTF8(text[:maxForeignText], "") + "..."
}
