package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// made are the names that commands of a test give to what they make.
	made = []*regexp.Regexp{
		regexp.MustCompile(`create namespace ([a-z-]+)`),
		regexp.MustCompile(`for \w+ in ([a-z ]+);`),
		regexp.MustCompile(`create service clusterip ([a-z-]+)`),
		regexp.MustCompile(`create serviceaccount ([a-z-]+)`),
		regexp.MustCompile(`helm install ([a-z-]+)`),
		regexp.MustCompile(`metadata: {name: ([a-z-]+)`),
		regexp.MustCompile(`>\s*([\w./~-]+)$`),
		regexp.MustCompile(`^cp \S+ (\S+)$`),
		regexp.MustCompile(`^(\w+)=`),
	}
	used     = regexp.MustCompile(`\$\{?([A-Z][A-Z0-9_]+)`)
	assigned = regexp.MustCompile(`(?m)(?:^|[\s;(])(?:export |read |for )?([A-Z][A-Z0-9_]+)(?:=| in )`)
)

// TestWhatATestPreparesIsNamedOnThePage: a page is followed as it is printed, so what was
// there before it is among what it says that one needs.
func TestWhatATestPreparesIsNamedOnThePage(t *testing.T) {
	count := 0
	for path, commands := range howtos {
		p := newPage(path, read(t, path))
		for line := range strings.Lines(commands) {
			for _, pattern := range made {
				for _, found := range pattern.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
					for _, name := range strings.Fields(found[1]) {
						count++
						if !p.names(name) {
							t.Errorf("%s: its test makes %s, which no sentence of the page names and no block of it makes", path, name)
						}
					}
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("got %d names: are they still recognised?", count)
	}
}

// names reports whether a sentence of the page, or a comment in one of its blocks, has the
// name.
func (p page) names(name string) bool {
	word := regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(name) + `($|[^\w-])`)
	found := false
	p.prose(func(_ int, text string) { found = found || word.MatchString(text) })
	return found
}

// TestTheVariablesOfABlockAreSetOnThePage: a command with a variable that nothing sets fails
// as it is printed. It is set by a block before, or a sentence before says what it is.
func TestTheVariablesOfABlockAreSetOnThePage(t *testing.T) {
	set := []string{"HOME", "PATH", "PWD", "HOSTNAME", "EDITOR", "USER"}
	uses := 0
	for _, p := range pages(t) {
		known := slices.Clone(set)
		for _, b := range p.blocks {
			for i, line := range p.lines[:b.line] {
				if !p.inBlock(i) {
					for _, s := range span.FindAllStringSubmatch(line, -1) {
						known = append(known, strings.TrimPrefix(s[1], "$"))
					}
				}
			}
			if b.language != "sh" && b.language != "console" {
				continue
			}
			for _, found := range assigned.FindAllStringSubmatch(b.text, -1) {
				known = append(known, found[1])
			}
			for _, found := range used.FindAllStringSubmatch(b.text, -1) {
				uses++
				if !slices.Contains(known, found[1]) {
					t.Errorf("%s:%d: nothing on the page sets %s before this block", p.path, b.line, found[1])
				}
			}
		}
	}
	if uses < 20 {
		t.Errorf("got %d variables: are they still recognised?", uses)
	}
}
