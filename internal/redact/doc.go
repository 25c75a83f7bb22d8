// Package redact makes texts that others wrote fit to be shown: short, on one
// line, and without secrets. In: texts and errors of libraries, servers and files.
// Out: the same, cut and masked. It never decides what is shown.
package redact
