package system

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// tailBytes is how much of standard error is returned.
	tailBytes = 4 << 10
	// keptBytes is how much of it is kept. It is more than is returned, because
	// whole lines are needed to find the secrets in them.
	keptBytes = 64 << 10
)

// limitedBuffer keeps what is written until that is too much.
type limitedBuffer struct {
	// A field, not embedded: io.Copy would use its ReadFrom, which has no limit.
	kept  bytes.Buffer
	limit int64
	// over is called when the limit is exceeded.
	over func(error)
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if int64(b.kept.Len()+len(p)) > b.limit {
		err := fmt.Errorf("%w of %d bytes", ErrOutputLimit, b.limit)
		b.over(err)
		return 0, err
	}
	return b.kept.Write(p)
}

// tail keeps the end of what is written.
type tail struct {
	kept []byte
	// cut says that something before kept is gone.
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if surplus := len(t.kept) - keptBytes; surplus > 0 {
		t.kept = append(t.kept[:0], t.kept[surplus:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns the whole lines that were kept, printable.
func (t *tail) String() string {
	lines := t.kept
	if t.cut {
		// The first line lacks its beginning, and half a secret would not be
		// recognized.
		_, rest, ok := bytes.Cut(lines, []byte("\n"))
		if !ok {
			return fmt.Sprintf("(a line of more than %d bytes is left out)", keptBytes)
		}
		lines = rest
	}
	return printable(string(lines))
}

// printable leaves line breaks and what shows as itself.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\r':
			return '\n'
		case c == '\t':
			return ' '
		case c == utf8.RuneError || !unicode.IsPrint(c):
			return -1
		}
		return c
	}, text))
}

// last returns the last lines of text, or where the last line alone is too long
// the end of it, in at most tailBytes.
func last(text string) string {
	if len(text) <= tailBytes {
		return text
	}
	text = text[len(text)-tailBytes:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return strings.ToValidUTF8(text, "")
}

// StderrNote is the end of an error that shows the last lines of standard error,
// in one line.
func StderrNote(stderr string) string {
	if stderr == "" {
		return "; its stderr is empty"
	}
	return "; stderr ends: " + strings.Join(strings.FieldsFunc(stderr, func(c rune) bool { return c == '\n' }), " | ")
}
