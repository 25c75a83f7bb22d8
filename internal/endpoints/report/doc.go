// Package report turns what the engine last saw and decided into what every surface
// shows: the status page, the JSON below /api/v1, and the commands status and explain.
// A controller.Snapshot goes in; the list of Services, the Document of one, or what they know
// of a node comes out.
//
// It only translates: no I/O and no state, so that a page can be drawn while the
// loop goes on.
package report
