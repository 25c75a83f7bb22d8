package cli

import (
	"fmt"
	"iter"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// statusOptions say what becomes of documents in the API server, for their status.
func (b *parts) statusOptions() apiserver.StatusOptions {
	facts := b.facts(time.Now())
	options := apiserver.StatusOptions{
		Want: func() (all iter.Seq[apiserver.Status], busy bool) {
			statuses, busy := facts().Statuses()
			return func(yield func(apiserver.Status) bool) {
				statuses(func(s report.ObjectStatus) bool { return yield(apiserver.Status(s)) })
			}, busy
		},
		Revision: func() uint64 {
			revision := b.server.Revision() << 1
			if b.leader.state().Leading {
				revision++
			}
			return revision
		},
		Trouble: func(listed []apiserver.Failure) {
			if len(listed) == 0 {
				b.log.Info("the status of documents in the API server is written again")
				return
			}
			b.log.Warn("the status of documents in the API server is not written, everything else works; give this program the right to update endpointpools/status and endpointbindings/status, or let the admission policy or webhook that is named allow it",
				"objects", len(listed), "object", listed[0].Key.String(), "error", listed[0].Err)
		},
	}
	if b.leader.elector != nil {
		options.Fence = b.leader.elector.Fence
	}
	return options
}

// unwrittenObjects are those whose status is not written.
func (b *parts) unwrittenObjects() []apiserver.Failure {
	if b.carriers == nil || b.carriers.kinds == nil {
		return nil
	}
	return b.carriers.kinds.Unwritten()
}

// unwritten says of which objects the status is not written, and why; empty for none.
func (b *parts) unwritten() string {
	listed := b.unwrittenObjects()
	if len(listed) == 0 {
		return ""
	}
	text := fmt.Sprintf("The status of %s cannot be written: %v", listed[0].Key, listed[0].Err)
	if others := len(listed) - 1; others > 0 {
		text += ". So it is with " + plural(others, "more object")
	}
	return text
}
