package transport

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MostShown is how many bytes of an error are shown: a server may repeat a whole
// object in it.
const MostShown = 512

// Cut shortens a text to so many bytes, at a space where there is one in its
// second half, so that no address is cut in two. It never splits a character.
func Cut(text string, most int) string {
	const dots = " ..."
	if len(text) <= most {
		return text
	}
	end := max(most-len(dots), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if space := strings.LastIndexByte(text[:end+1], ' '); space > end/2 {
		end = space
	}
	return text[:end] + dots
}

// Printable makes one line of a text, without control sequences for a terminal. What is no UTF-8 becomes U+FFFD.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// PrintableLines does the same for each line of a text.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Printable(line)
	}
	return strings.Join(lines, "\n")
}

// userInfo is the user name and password of a URL, also where a character in them
// that should be escaped is not, such as a slash.
var userInfo = regexp.MustCompile(`//[^\s"'<>]*@`)

// HideUserInfo removes user names and passwords from the URLs in a text.
func HideUserInfo(text string) string {
	return userInfo.ReplaceAllString(text, "//...@")
}
