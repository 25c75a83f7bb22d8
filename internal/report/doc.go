// Package report turns what the syncer last saw and decided into the one document
// that every surface shows: the status page, the JSON below /api/v1, and the commands
// status and explain. A syncer.Status goes in, a Document comes out.
//
// It only translates: no I/O and no state, so that a page can be drawn while the
// loop goes on.
package report
