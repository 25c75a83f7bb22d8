package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// skipped are folders without our pages.
var skipped = []string{".git", ".tools", "bin", "node_modules"}

// page is one Markdown file.
type page struct {
	// path is relative to the repository.
	path string
	// lines are all of it.
	lines  []string
	blocks []block
}

// block is one fenced block of a page.
type block struct {
	// line is that of its fence, counted from 1.
	line int
	// language is the word after the fence.
	language string
	// mark is what the comment before it says, if there is one.
	mark string
	text string
	// last is the index of the closing fence.
	last int
}

var (
	fence = regexp.MustCompile("^\\s*```+\\s*([a-z]*)\\s*$")
	mark  = regexp.MustCompile(`^<!-- (not run here: .+|runs until stopped(?:: \S+)?) -->$`)
	span  = regexp.MustCompile("`([^`\n]+)`")
)

// pages returns every Markdown file of the repository.
func pages(t *testing.T) []page {
	t.Helper()
	var found []page
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		found = append(found, newPage(relative, string(data)))
		return err
	})
	if err != nil || len(found) < 20 {
		t.Fatalf("%d pages, %v", len(found), err)
	}
	return found
}

func newPage(path, text string) page {
	p := page{path: path, lines: strings.Split(text, "\n")}
	open := -1
	for i, line := range p.lines {
		found := fence.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if open < 0 {
			open = i
			p.blocks = append(p.blocks, block{line: i + 1, language: found[1], last: len(p.lines)})
			if i > 0 {
				if m := mark.FindStringSubmatch(strings.TrimSpace(p.lines[i-1])); m != nil {
					p.blocks[len(p.blocks)-1].mark = m[1]
				}
			}
			continue
		}
		b := &p.blocks[len(p.blocks)-1]
		b.text, b.last = strings.Join(p.lines[open+1:i], "\n"), i
		open = -1
	}
	return p
}

// inBlock reports whether the line, counted from 0, is part of a block.
func (p page) inBlock(i int) bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool { return b.line-1 <= i && i <= b.last })
}

// code calls with each piece of code and the number of its line: spans, and the
// lines of blocks.
func (p page) code(call func(line int, text string)) {
	for i, line := range p.lines {
		if p.inBlock(i) {
			call(i+1, line)
			continue
		}
		for _, s := range span.FindAllStringSubmatch(line, -1) {
			call(i+1, s[1])
		}
	}
}

// prose calls with each line outside of blocks.
func (p page) prose(call func(line int, text string)) {
	for i, line := range p.lines {
		if !p.inBlock(i) {
			call(i+1, line)
		}
	}
}
