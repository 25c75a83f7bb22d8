package docs_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)(?:\s+"[^"]*")?\)`)
	heading = regexp.MustCompile(`^#{1,6}\s+(.+?)\s*#*$`)
	named   = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	// dropped is what an anchor does not keep of its heading.
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`)
)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	all := pages(t)
	for _, p := range all {
		p.prose(func(line int, text string) {
			for _, l := range link.FindAllStringSubmatch(span.ReplaceAllString(text, "``"), -1) {
				if err := follow(all, p.path, l[1]); err != nil {
					t.Errorf("%s:%d: %s: %v", p.path, line, l[1], err)
				}
			}
		})
	}
}

// follow says what is wrong with a link; it does not follow links to other sites.
func follow(all []page, from, target string) error {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" {
		return err
	}
	to := from
	if u.Path != "" {
		to = filepath.Join(filepath.Dir(from), u.Path)
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(p page) bool { return p.path == to })
	if u.Fragment == "" || i < 0 {
		return nil
	}
	if anchors := all[i].anchors(); !slices.Contains(anchors, u.Fragment) {
		return fmt.Errorf("%s has no heading #%s, only %v", to, u.Fragment, anchors)
	}
	return nil
}

// anchors are the anchors that GitHub gives the headings.
func (p page) anchors() []string {
	var anchors []string
	seen := map[string]int{}
	p.prose(func(_ int, text string) {
		for _, n := range named.FindAllStringSubmatch(text, -1) {
			anchors = append(anchors, n[1])
		}
		h := heading.FindStringSubmatch(text)
		if h == nil {
			return
		}
		anchor := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
		if n := seen[anchor]; n > 0 {
			anchors = append(anchors, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			anchors = append(anchors, anchor)
		}
		seen[anchor]++
	})
	return anchors
}

// TestEveryPageIsFoundFromTheIndex follows links from docs/README.md.
func TestEveryPageIsFoundFromTheIndex(t *testing.T) {
	all := pages(t)
	reached := map[string]bool{"docs/README.md": true}
	for _, index := range []string{"docs/README.md", "docs/design/adr/README.md", "docs/runbooks/README.md"} {
		for _, p := range all {
			if p.path != index || !reached[index] {
				continue
			}
			p.prose(func(_ int, text string) {
				for _, l := range link.FindAllStringSubmatch(text, -1) {
					path, _, _ := strings.Cut(l[1], "#")
					reached[filepath.Join(filepath.Dir(index), path)] = true
				}
			})
		}
	}
	for _, p := range all {
		if strings.HasPrefix(p.path, "docs/") && !reached[p.path] {
			t.Errorf("%s: neither docs/README.md nor an index that it links to leads there", p.path)
		}
	}
}

func TestTheMapNamesEveryPackage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/design/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "## Packages")
	var listed []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			continue
		}
		for _, name := range span.FindAllStringSubmatch(cells[1], -1) {
			listed = append(listed, name[1])
		}
	}
	there := packages(t)
	for _, name := range there {
		if !slices.Contains(listed, name) {
			t.Errorf("docs/design/architecture.md: no row for %s", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(there, name) {
			t.Errorf("docs/design/architecture.md: there is no package %s", name)
		}
	}
}

// packages are the folders below internal that hold Go files.
func packages(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*/*.go", "*/*/*.go", "*/*/*/*.go", "*/*/*/*/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, "internal", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(filepath.Join(root, "internal"), filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
