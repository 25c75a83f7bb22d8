package event

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"

// Note spells a notice; see note.
func Note(notice syncer.Notice, leftOut int) string {
	return note(item{Notice: notice, leftOut: leftOut})
}
