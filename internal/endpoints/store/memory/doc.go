// Package memory is the store of the local dry run: it keeps the target's
// EndpointSlices in the process and prints each whenever it changes.
//
// In come the target, what its Service looks like, and the writes; out go the
// slices, as a store answers them and as YAML documents. It behaves as an API
// server does where that matters: every change makes a new resourceVersion, an
// update needs the version it was computed from, and a create of what exists is
// a conflict. It sends no request and forgets everything when it ends.
package memory
