package settings

import (
	"fmt"
	"strings"
)

// Args splits the arguments of a program as a shell does: at white space, with
// single quotes, double quotes and backslashes. Because no shell runs, what a
// shell would replace or carry out is refused rather than passed on as text or
// dropped; *, ? and ~ are passed on as they stand.
func Args(value string) ([]string, error) {
	if strings.ContainsAny(value, "\x00\r") {
		return nil, Problem{Rule: "holds a NUL or a carriage return", Remedy: "remove it"}
	}
	var args []string
	var word []byte // nil between words
	quote, opened := byte(0), 0
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quote == '\'' && c != quote, quote == '"' && c == '\'':
			word = append(word, c)
		case c == quote:
			quote = 0
		case c == '"', c == '\'':
			quote, opened, word = c, i, append([]byte{}, word...)
		case c == '\\' && i+1 < len(value):
			i++
			word = escaped(word, value[i], quote != 0)
		case c == '$', c == '`', quote == 0 && strings.IndexByte("|&;<>()", c) >= 0, c == '#' && word == nil:
			return nil, Problem{Rule: fmt.Sprintf("holds %c at character %d, and no shell runs to carry out what that means", c, i+1), Remedy: "put single quotes around it to pass it on as it stands"}
		case quote == 0 && strings.IndexByte(" \t\n", c) >= 0:
			if word != nil {
				args = append(args, string(word))
			}
			word = nil
		default:
			word = append(word, c)
		}
	}
	if quote != 0 {
		return nil, Problem{Rule: fmt.Sprintf("does not close the %c at character %d", quote, opened+1), Remedy: "close it, or put a backslash before it"}
	}
	if word != nil {
		args = append(args, string(word))
	}
	return args, nil
}

// escaped adds what a backslash and a character stand for. Between double quotes a
// backslash escapes only what is special there.
func escaped(word []byte, c byte, quoted bool) []byte {
	switch {
	case c == '\n':
		return word
	case quoted && strings.IndexByte("$`\"\\", c) < 0:
		return append(word, '\\', c)
	}
	return append(word, c)
}
