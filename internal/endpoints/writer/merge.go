package writer

import (
	"cmp"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Merge takes in a load that was asked for when so many requests had ended (Ended).
// It returns the slices as they are known to be afterwards, what came of writes of
// unknown outcome, and whether slices take part again that did not before. Slices
// that the load could not read stay as they are known.
//
//	the slice's last request   what holds
//	is in flight               what was known: the load may be older or newer
//	ended since the load was asked for
//	                           what was known: the load may be older
//	otherwise                  what the load says
func (o *Outbox) Merge(known []publish.Slice, loaded publish.State, ended int) (merged []publish.Slice, results []Result, resolved bool) {
	merged = slices.Clone(loaded.Slices)
	for _, name := range loaded.Unread {
		merged = keep(merged, known, name)
	}
	for name, r := range o.records {
		if slices.Contains(loaded.Unread, name) {
			continue
		}
		if r.inFlight() || r.ended > ended {
			r.skip(find(loaded.Slices, name), find(known, name))
			merged = keep(merged, known, name)
			continue
		}
		r.skipped = false
		if !r.unread {
			continue
		}
		resolved = true
		var slice *publish.Slice
		if i := slices.IndexFunc(merged, func(s publish.Slice) bool { return s.Name == name }); i >= 0 {
			slice = &merged[i]
		}
		if result := r.read(slice); result != nil {
			results = append(results, *result)
		}
	}
	sort(merged)
	slices.SortFunc(results, bySent)
	o.ready = count(merged)
	return merged, results, resolved
}

// GiveUp returns the results of writes whose outcome no load could show, so that
// they are reported; their slices still take no part until they were read.
func (o *Outbox) GiveUp() []Result {
	var results []Result
	for _, r := range o.records {
		if r.failed != nil {
			results = append(results, *r.failed)
			r.failed = nil
		}
	}
	slices.SortFunc(results, bySent)
	return results
}

// Landed returns the slices with a successful write in them.
func Landed(known []publish.Slice, result Result) []publish.Slice {
	slice := result.Write.Slice
	slice.Version, slice.Changed = result.Version, result.Write.Trigger
	after := put(slices.Clone(known), slice)
	sort(after)
	return after
}

// keep makes merged say of one slice what known says.
func keep(merged, known []publish.Slice, name string) []publish.Slice {
	merged = slices.DeleteFunc(merged, func(s publish.Slice) bool { return s.Name == name })
	if i := slices.IndexFunc(known, func(s publish.Slice) bool { return s.Name == name }); i >= 0 {
		merged = append(merged, known[i])
	}
	return merged
}

// bySent orders results by the time of their requests, those of one moment by slice.
func bySent(a, b Result) int {
	return cmp.Or(a.Sent.Compare(b.Sent), cmp.Compare(a.Write.Slice.Name, b.Write.Slice.Name))
}
