//go:build lab

package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

const (
	page = "../../docs/how-to/service.md"
	// The table is between two lines of the page; everything else is written by hand.
	begin = "<!-- begin: what was seen -->\n"
	end   = "<!-- end: what was seen -->\n"
)

// checkTable compares the page with what was just seen, or writes it.
func checkTable(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s lacks the lines %q and %q", page, begin, end)
	}
	want := table(t)
	if golden.Updating() {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-seen +written); go test -tags lab ./test/conformance -update writes it:\n%s", page, diff)
	}
}

// table says which endpoints answer, by scenario and consumer, after the test has seen it.
func table(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| endpoints | " + strings.Join(consumers, " | ") + " |\n|---" + strings.Repeat("|---", len(consumers)) + "|\n")
	for _, s := range scenarios {
		b.WriteString("| " + s.what)
		for _, c := range consumers {
			b.WriteString(" | " + s.cell(c))
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(&b, "\nSeen with kube-proxy %s, CoreDNS %s and Traefik %s.\n",
		version(t, "kubernetes", "k8s.io/kubernetes"), version(t, "coredns", "github.com/coredns/coredns"), version(t, "traefik", "github.com/traefik/traefik/v3"))
	return b.String()
}

func (s scenario) cell(consumer string) string {
	answering := s.answers(consumer)
	switch {
	case answering == none:
		return "none: " + refusal[consumer]
	case len(s.in(answering)) == len(s.members):
		return "all"
	default:
		return string(answering)
	}
}

// version is that of a module that a tools module pins.
func version(t *testing.T, tool, module string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", module)
	command.Dir = "../../tools/" + tool
	out, err := command.Output()
	if err != nil {
		t.Fatalf("version of %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}
