package event

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"

// Note spells a notice; see note.
func Note(notice narration.Notice, leftOut int) string {
	return note(item{Notice: notice, leftOut: leftOut})
}
