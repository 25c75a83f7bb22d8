package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// columns is the width that every line keeps to.
const columns = 80

// printer tells the story.
type printer struct {
	out    io.Writer
	colour bool
}

// style is an ANSI sequence.
type style string

// The styles.
const (
	plain  style = ""
	bold   style = "\x1b[1m"
	red    style = "\x1b[31m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"
	reset  style = "\x1b[0m"
)

// paint styles text where colours are wanted.
func (p printer) paint(text string, with style) string {
	if !p.colour || with == plain {
		return text
	}
	return string(with) + text + string(reset)
}

// heading begins a scene.
func (p printer) heading(text string) {
	fmt.Fprintf(p.out, "\n%s\n", p.paint(text, bold))
}

// say prints a paragraph.
func (p printer) say(text string) { p.hang("", text, plain) }

// next says what is done next within a scene.
func (p printer) next(text string) { p.say(""); p.say(text) }

// verbatim prints text as it is, indented.
func (p printer) verbatim(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprint(p.out, "  ", line)
	}
}

// event prints what the daemon said, and how long after the act.
func (p printer) event(after time.Duration, text string) {
	p.hang(fmt.Sprintf("  %6s  ", fmt.Sprintf("+%.1fs", after.Seconds())), text, plain)
}

// conclude ends a scene that ended as expected.
func (p printer) conclude(text string) { p.hang("  OK      ", text, green) }

// hang prints text behind a lead; further lines are indented as far.
func (p printer) hang(lead, text string, with style) {
	indent := strings.Repeat(" ", len(lead))
	for i, line := range wrap(text, columns-len(lead)) {
		if i > 0 {
			lead = indent
		}
		fmt.Fprintln(p.out, p.paint(lead+line, with))
	}
}

// wrap breaks text into lines of at most width runes; a longer word is cut.
func wrap(text string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > width {
			if current != "" {
				lines, current = append(lines, current), ""
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		switch {
		case current == "":
			current = word
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) <= width:
			current += " " + word
		default:
			lines, current = append(lines, current), word
		}
	}
	return append(lines, current)
}

// table prints the endpoints of the slices and why each is as it is.
func (p printer) table(w *world, nodes []*member) {
	const format = "          %-12s %-10s %s %s\n"
	fmt.Fprintf(p.out, format, "ADDRESS", "NODE", pad("STATE"), "REASON OF THE LAST CHANGE")
	for _, n := range nodes {
		address := n.address.String()
		if state := w.state(address); state != absent {
			fmt.Fprintf(p.out, format, address, n.name, p.paint(pad(state), colourOf(state)), w.changes[address].reason)
		}
	}
}

// pad makes all states as wide; a colour would count as width otherwise.
func pad(state string) string { return fmt.Sprintf("%-9s", state) }

// colourOf is the colour of a state.
func colourOf(state string) style {
	switch state {
	case ready:
		return green
	case draining:
		return yellow
	}
	return red
}

// setting prints a variable of the daemon and why it has its value.
func (p printer) setting(s setting) {
	const width = 30
	assignment := "  " + s.name + "=" + s.value
	if len(assignment) >= width {
		p.hang("  ", assignment[2:], plain)
		assignment = ""
	}
	p.hang(fmt.Sprintf("%-*s", width, assignment), s.why, plain)
}

// seconds spells a time as people say it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
