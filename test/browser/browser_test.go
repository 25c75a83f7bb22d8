package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// problem is what the script found.
type problem struct {
	Page, View, What string
}

// TestThePageInABrowser has the script look.mjs open every page in several widths
// and colours and complain of what is not as it should be. With -artifacts it takes
// pictures.
func TestThePageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute and a browser")
	}
	out := "" // no pictures, each of which takes a second
	if keep := flag.Lookup("test.artifacts"); keep != nil && keep.Value.String() == "true" {
		out = t.ArtifactDir()
	}
	look(t, out, append(pages(t), fixtures(t)...))
}

// look lets the script look at pages. It returns what the pages with a picture say,
// by the name of the picture. The pictures are in the folder out; without one, none are
// taken of the others.
func look(t *testing.T, out string, pages []page) map[string][]string {
	t.Helper()
	var todo struct {
		Chromium string `json:"chromium"`
		Out      string `json:"out"`
		Pages    []page `json:"pages"`
	}
	todo.Chromium, todo.Out, todo.Pages = need(t, "chromium"), out, pages
	node := need(t, "node")
	install(t)
	text, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "look.mjs")
	cmd.Stdin = strings.NewReader(string(text))
	cmd.Stderr = os.Stderr
	answer, err := cmd.Output()
	var found struct {
		Problems []problem
		Said     map[string][]string
	}
	if err == nil {
		err = json.Unmarshal(answer, &found)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Log(string(exit.Stderr))
		}
		t.Fatalf("look.mjs: %v\n%s", err, answer)
	}
	for _, p := range found.Problems {
		t.Errorf("%s, %s: %s", p.Page, p.View, p.What)
	}
	return found.Said
}

// need returns the path of a program. Without the program the test is skipped, or
// fails with CI=true: such a machine must have everything.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%v; CI=true forbids to skip for that: run hack/install-test-packages.sh", err)
	default:
		t.Skipf("%v; hack/install-test-packages.sh installs it", err)
	}
	return path
}

// install fetches what package-lock.json names, once, and runs none of it. The
// list that npm leaves behind says what is there.
func install(t *testing.T) {
	t.Helper()
	wanted, err := os.Stat("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.Stat(filepath.Join("node_modules", ".package-lock.json"))
	if err == nil && !there.ModTime().Before(wanted.ModTime()) {
		return
	}
	npm := exec.CommandContext(t.Context(), need(t, "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}
