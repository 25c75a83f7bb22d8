package documents

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// required notes a field that is not set, unless it, or what is around it, has a
// mistake already. It reports whether the field is set.
func (w *walk) required(path string) bool {
	if w.has(path) {
		return true
	}
	if w.sound(path) {
		w.missing(path, "write it; docs/reference/documents.md has the form")
	}
	return false
}

// text holds a text against its limits, and reports whether it is within them.
func (w *walk) text(path, value string, least, most int) bool {
	switch {
	case !w.sound(path), value == "" && least > 0 && !w.required(path):
	case len(value) < least:
		w.note(path, problem{"is empty", "write a value"})
	case utf8.RuneCountInString(value) > most:
		w.noteValue(path, value, problem{fmt.Sprintf("has more than %d characters", most), "write a shorter one"})
	default:
		return true
	}
	return false
}

// number holds a number against its limits. nil is one that is not set.
func (w *walk) number(path string, value *int32, least, most int32) {
	if value == nil || !w.sound(path) {
		return
	}
	if *value < least || *value > most {
		w.noteValue(path, strconv.Itoa(int(*value)), problem{fmt.Sprintf("is outside %d to %d", least, most), "write a number within"})
	}
}

// count holds the length of a list against its limits.
func (w *walk) count(path string, length, least, most int) {
	switch {
	case !w.sound(path):
	case length < least:
		w.note(path, problem{fmt.Sprintf("has %d entries, fewer than %d", length, least), "add one"})
	case length > most:
		w.note(path, problem{fmt.Sprintf("has %d entries, more than %d", length, most), "remove some"})
	}
}
