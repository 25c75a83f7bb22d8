package docs_test

import (
	"strings"
	"testing"
)

// maxRow is how many words a row of a generated table may have: a longer one is a paragraph.
const maxRow = 25

// TestGeneratedPagesHaveShortRows counts what stands between spaces in the rows of generated pages,
// without the bars.
func TestGeneratedPagesHaveShortRows(t *testing.T) {
	generated, counted := 0, 0
	for _, p := range pages(t) {
		if !strings.HasPrefix(p.lines[0], "<!-- Generated") {
			continue
		}
		generated++
		p.prose(func(line int, text string) {
			if !strings.HasPrefix(text, "|") {
				return
			}
			counted++
			if words := rowWords(text); len(words) > maxRow {
				t.Errorf("%s:%d: the row has %d words, want %d at most; shorten it at its source, or write a sentence beside the table: %s",
					p.path, line, len(words), maxRow, text)
			}
		})
	}
	if generated < 9 || counted < 500 {
		t.Errorf("got %d generated pages with %d rows: are they still recognised?", generated, counted)
	}
}

// rowWords returns the words of a row. A bar that is escaped is part of a word.
func rowWords(row string) []string {
	const bar = "\x00"
	row = strings.ReplaceAll(row, `\|`, bar)
	return strings.Fields(strings.ReplaceAll(row, "|", " "))
}
