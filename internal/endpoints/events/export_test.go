package events

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"

// Note spells a notice; see note.
func Note(notice explain.Notice, leftOut int) string {
	return note(item{Notice: notice, leftOut: leftOut})
}
