package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
)

// colour reports whether what is written to out may be coloured: on a terminal
// that understands it, unless NO_COLOR says otherwise (no-color.org).
func (p Program) colour(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && commandline.Variable(p.Environ, "NO_COLOR") == "" && commandline.Variable(p.Environ, "TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}
