package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

// escapes are what colours a terminal; times differ from run to run.
var (
	escapes = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	times   = regexp.MustCompile(`read in \S+`)
)

func TestCheckIsColouredOnATerminalOnlyAndNeverWithNOCOLOR(t *testing.T) {
	t.Parallel()
	_, plain, _ := run(t, base, "check")
	if escapes.MatchString(plain) {
		t.Errorf("no terminal: got colours in %q", plain)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	cli.Program{Environ: base, Stdout: file, Stderr: &buffer{}}.Run(t.Context(), []string{"check"})
	if text, err := os.ReadFile(file.Name()); err != nil || len(text) == 0 || escapes.Match(text) {
		t.Errorf("a file: got %q, %v, want a report without colours", text, err)
	}
	for _, test := range []struct {
		environ []string
		args    []string
		want    bool
	}{
		{nil, nil, true},
		{[]string{"NO_COLOR=1"}, nil, false},
		{[]string{"NO_COLOR="}, nil, true},
		{[]string{"TERM=dumb"}, nil, false},
		{nil, []string{"-o", "json"}, false},
	} {
		shown := onATerminal(t, append(test.environ, base...), append([]string{"check"}, test.args...)...)
		if got := escapes.MatchString(shown); got != test.want {
			t.Errorf("%v %v: got colours %t, want %t in %q", test.environ, test.args, got, test.want, shown)
		}
		if text := times.ReplaceAllString(escapes.ReplaceAllString(shown, ""), ""); test.args == nil && text != times.ReplaceAllString(plain, "") {
			t.Errorf("%v: got without colours\n%s\nwant what is shown without a terminal\n%s", test.environ, text, plain)
		}
	}
}

// onATerminal runs a command line with a pseudo-terminal as standard output and
// returns what it shows.
func onATerminal(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		var all strings.Builder
		for buf := make([]byte, 4096); ; {
			n, err := master.Read(buf)
			all.Write(buf[:n])
			if err != nil { // EIO: the other end is closed
				shown <- strings.ReplaceAll(all.String(), "\r\n", "\n")
				return
			}
		}
	}()
	cli.Program{Environ: environ, Stdout: terminal, Stderr: &buffer{}}.Run(t.Context(), args)
	terminal.Close()
	return <-shown
}
