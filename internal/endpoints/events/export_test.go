package events

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/findings"

// Note spells a notice; see note.
func Note(notice findings.Notice, leftOut int) string {
	return note(item{Notice: notice, leftOut: leftOut})
}
