package cli

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// colour reports whether what is written to out may be coloured: on a terminal
// that understands it, unless NO_COLOR says otherwise (no-color.org).
func (p Program) colour(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && p.variable("NO_COLOR") == "" && p.variable("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// variable returns what the environment says of a name, empty if nothing. Of a
// name that stands twice the first counts, as it does for os.Getenv.
func (p Program) variable(name string) string {
	for _, entry := range p.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
