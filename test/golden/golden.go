// Package golden holds files that are made of the code against the code.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated files anew")

// Updating reports whether the files are to be written anew.
func Updating() bool { return *update }

// Check fails where the file is not what the code makes today, and names the command that writes it.
// With -update the file is written.
func Check(t *testing.T, path, want, command string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s is out of date, run %q (-file +code):\n%s", path, command, diff)
	}
}

// CheckPart is Check of a part of a page that several packages make: from the line that is from, or
// the start, to the line that is to, or the end.
func CheckPart(t *testing.T, path, from, to, want, command string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	begin, end := 0, len(text)
	if from != "" {
		begin = lineAt(text, from)
	}
	if to != "" {
		end = lineAt(text, to)
	}
	Check(t, path, text[:begin]+want+text[end:], command)
}

// lineAt is where a line begins; where it is missing, the end of the text.
func lineAt(text, line string) int {
	if at := strings.Index(text, "\n"+line+"\n"); at >= 0 {
		return at + 1
	}
	return len(text)
}
