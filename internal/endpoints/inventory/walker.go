package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// walker walks over the tokens of a document and knows where each begins. It
// goes as deep as a record does and no deeper, whatever the document holds.
type walker struct {
	data []byte
	json *json.Decoder
}

func newWalker(data []byte) *walker {
	w := &walker{data: data, json: json.NewDecoder(bytes.NewReader(data))}
	w.json.UseNumber() // a number too large for a float64 is only a wrong type
	return w
}

// token is one token and the offset of its first byte.
type token struct {
	value json.Token
	at    int
}

// next reads a token, which has a value but for null: the syntax of all was looked at before.
func (w *walker) next() token {
	at := w.offset()
	value, _ := w.json.Token()
	return token{value: value, at: at}
}

// offset is where the next token begins.
func (w *walker) offset() int {
	at := int(w.json.InputOffset())
	for at < len(w.data) && strings.IndexByte(" \t\r\n,:", w.data[at]) >= 0 {
		at++
	}
	return at
}

// malformed is the error about the byte at that offset.
func (w *walker) malformed(at int, format string, args ...any) error {
	return fmt.Errorf("%s: %w", w.place(at), fmt.Errorf(format, args...))
}

// place names the line, and the column in characters, both counted from 1.
func (w *walker) place(at int) string {
	at = min(max(at, 0), len(w.data))
	before := w.data[:at]
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, column)
}

// malformed is the error about the byte at that offset, in this record.
func (r *recordReader) malformed(at int, format string, args ...any) error {
	subject := fmt.Sprintf("record %d", r.number)
	if r.node.Name != "" {
		subject += ", node " + quote(r.node.Name)
	}
	return fmt.Errorf("%s, %w", subject, r.walker.malformed(at, format, args...))
}

// kind describes the token without repeating what may be long or secret.
func (t token) kind() string {
	switch value := t.value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case string:
		return "a string"
	case json.Delim:
		if value == '{' {
			return "an object"
		}
		return "an array"
	}
	return "a number"
}

// quote quotes a text of the document for an error, cut where it is long.
func quote(text string) string {
	const longest = 64
	if len(text) <= longest {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.ToValidUTF8(text[:longest], "")) + "..."
}

// suggestKey returns the known key that was probably meant, or all of them.
func suggestKey(key string) string {
	plain := strings.NewReplacer("_", "", "-", "", " ", "")
	given := strings.ToLower(plain.Replace(key))
	// One slip for each three letters: "ip" is not a misspelt "id".
	best, slips := "", len(given)/3+1
	for _, known := range knownKeys() {
		if len(given) > 2*len(known) {
			continue // too far off, and maybe long
		}
		if d := levenshtein.ComputeDistance(given, plain.Replace(known)); d < slips {
			best, slips = known, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "the keys are " + strings.Join(knownKeys(), ", ")
}
