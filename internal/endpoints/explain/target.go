package explain

import (
	"errors"
	"fmt"
	"maps"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// ServiceStory is the memory of what was reported of a target; nothing, if zero.
type ServiceStory struct {
	// DryRun says that nothing is written.
	DryRun bool

	state   publish.State
	problem publish.Problem
	// loadFailed says that the store could not be loaded the last time.
	loadFailed bool
	// dryRun is what the dry run last said that it does not write.
	dryRun string
	// otherwise is what was announced of each slice that is stored otherwise than it was sent.
	otherwise map[string]string
}

// Tell returns what an outcome is worth telling, and the memory for the next one.
func (t ServiceStory) Tell(o writer.Outcome) (ServiceStory, Story) {
	var s Story
	if o.Defect != nil {
		s.say(Error, "the Service is not filled because of a defect of the program, its slices stay as they are", "error", o.Defect, "retry_after", o.Defect.Again, "stack", o.Defect.Stack)
		return t, s
	}
	if o.Loaded {
		s.loaded(t.loadFailed, o.LoadErr)
		t.loadFailed = o.LoadErr != nil
	}
	t.otherwise = s.written(o.Results, o.State, t.otherwise)
	if o.WriteErr == nil {
		t.otherwise = nil
	}
	if len(o.Results) > 0 {
		c := cycleOf(o.Results, o.Began, o.At)
		s.Cycle = &c
	}
	if t.DryRun && o.Passed {
		t.dryRun = s.dryRun(o.Writes, t.dryRun)
	}
	s.seen(t.state, o.State)
	s.problem(t.problem, o.Problem)
	t.state, t.problem = o.State, o.Problem
	return t, s
}

// dryRun says what a dry run does not write, unless that was said last, and returns
// what it said.
func (s *Story) dryRun(writes []publish.Write, before string) string {
	said := ""
	for _, w := range writes {
		said += fmt.Sprintln(w.Operation, w.Slice.Name, w.Added, w.Removed, w.Changed)
	}
	if said != before {
		for _, w := range writes {
			s.say(Info, "dry run, slice not written", wrote(w)...)
		}
	}
	return said
}

// written says what came of writes, after which the state is as given. It returns what is
// announced of slices that are stored otherwise, before is what was: the same is announced once.
func (s *Story) written(results []writer.Result, state publish.State, before map[string]string) map[string]string {
	s.announce(updated(results, state)...)
	otherwise := maps.Clone(before)
	for _, r := range results {
		switch name := r.Write.Slice.Name; {
		case r.Err == nil:
			s.say(Info, "slice written", wrote(r.Write)...)
		case errors.Is(r.Err, publish.ErrStoredOtherwise):
			s.say(Error, "the stored slice differs from the slice that was sent", append(wrote(r.Write), "error", r.Err)...)
			if note := r.Err.Error(); otherwise[name] != note {
				if otherwise == nil {
					otherwise = make(map[string]string)
				}
				otherwise[name] = note
				s.announce(Notice{Reason: StoredOtherwise, Note: note})
			}
		default:
			s.say(Error, "slice not written", append(wrote(r.Write), "error", r.Err)...)
		}
	}
	return otherwise
}

// wrote describes a write.
func wrote(w publish.Write) []any {
	return []any{"slice", w.Slice.Name, "operation", string(w.Operation), "endpoints", len(w.Slice.Endpoints), "added", len(w.Added), "removed", len(w.Removed), "changed", len(w.Changed)}
}

// loaded says when the store cannot be read, or may be out of date, and when that is
// over.
func (s *Story) loaded(failed bool, err error) {
	switch {
	case err != nil && !failed:
		s.announce(Notice{Reason: StoreUnavailable, Note: err.Error() + "; health checks still decide, and changes are still written"})
		s.say(Error, "cannot load the slices, trying again", "error", err)
	case err == nil && failed:
		s.announce(Notice{Reason: StoreRecovered, Note: "the Service and its slices can be read again"})
		s.say(Info, "slices can be loaded again")
	}
}

// problem says when something about the Service stands in the way.
func (s *Story) problem(before, after publish.Problem) {
	switch {
	case before == after:
	case after.Kind != "":
		s.announce(Notice{Reason: NoticeReason(after.Kind), Note: after.Message})
		s.say(Warn, "service cannot be filled", "problem", string(after.Kind), "message", after.Message)
	default:
		s.say(Info, "service can be filled again")
	}
}

// seen says once of each slice that it has one of our names but is not ours, or
// that it publishes endpoints too.
func (s *Story) seen(before, after publish.State) {
	refused, beside := make(map[publish.Refusal]bool), make(map[[2]string]bool) // others decide how many there are
	for _, r := range before.Refused {
		refused[r] = true
	}
	for _, b := range before.Beside { // how many endpoints it has may change all day
		beside[[2]string{b.Name, b.Manager}] = true
	}
	for _, r := range after.Refused {
		if !refused[r] {
			s.announce(Notice{Reason: SliceOwnedByOther, Note: r.Message})
			s.say(Warn, "slice has another owner and is left alone", "slice", r.Name, "message", r.Message)
		}
	}
	for _, b := range after.Beside {
		if !beside[[2]string{b.Name, b.Manager}] {
			s.announce(Notice{Reason: MirroredSliceFound, Note: b.Message})
			s.say(Warn, "another slice publishes endpoints of the Service", "slice", b.Name, "manager", b.Manager, "endpoints", b.Endpoints, "message", b.Message)
		}
	}
	if len(before.Beside) > 0 && len(after.Beside) == 0 {
		s.say(Info, "no other slice publishes endpoints of the Service any more")
	}
}
