package main

import "context"

// section is one question of the report.
type section struct {
	// name is what -only calls it, and the first word of the names of its files.
	name string
	// measure returns lines as go test -bench prints them: anything else in
	// them is passed over. Progress goes to standard error.
	measure func(context.Context, form) (string, error)
	// present turns these lines into the section's part of the page.
	present func(results) part
}

// form is how thorough a run is.
type form struct {
	// long is for LONG=1: minutes become tens of minutes.
	long bool
	// count and benchtime are those of go test -bench.
	count     int
	benchtime string
}

// part is what a section adds to the page.
type part struct {
	// prose is Markdown, from its heading ("## ...") on.
	prose string
	// targets are rows of the table at the top.
	targets []target
}

// target is a row of the table of targets.
type target struct {
	question, want, found string
	met                   bool
	// reason says why it is missed, in a few words; empty when it is met.
	reason string
}
