package xds

import (
	"maps"
	"slices"
	"time"
)

// heldResource is a resource that a client has.
type heldResource struct {
	version string
	at      time.Time
}

// progress is what a client was sent of one kind, and what it said to that.
type progress struct {
	// asked says that the client wants resources of the kind.
	asked bool
	// newest is the nonce of the newest answer on this stream, empty before the first one.
	newest string
	// foreign is how many bytes each resource takes that an Envoy had when it connected and
	// that is not there.
	foreign map[string]int
	// sent is the newest that it was sent of each resource, acked what it acknowledged.
	sent, acked map[string]heldResource
	// pending are the answers that it has said nothing to, the oldest first.
	pending []answer
	// rejected are the rejections of single resources that it has not acknowledged since, and after
	// these the newest rejection.
	rejected []*Rejection
}

// answer is one message to a client.
type answer struct {
	nonce   string
	put     []nameVersion
	removed []string
	// whole says that what is not in put is gone.
	whole bool
}

// nameVersion is a version of a resource.
type nameVersion struct{ name, version string }

// Rejection is what a client said to an answer that it did not take.
type Rejection struct {
	At time.Time `json:"at"`
	// Text is the client's own.
	Text string `json:"text"`
	// Resources are those of the answer.
	Resources []string `json:"resources,omitempty"`
}

// begun is the progress of a client that says what it has when it begins.
func begun(versions map[string]string, foreign map[string]int, now time.Time) progress {
	has := make(map[string]heldResource, len(versions))
	for name, version := range versions {
		has[name] = heldResource{version, now}
	}
	return progress{asked: true, sent: has, acked: maps.Clone(has), foreign: foreign}
}

// drop leaves out of an answer what the client never had: that it is gone changes nothing.
// It returns how many bytes that takes until it is sent, as names and encoded. What a client
// has is changed by its stream alone, which needs no lock to look at it.
func (p *progress) drop(a *answer) (unshared int) {
	var removed []string // a new list, not a part of a long one, because it waits for an acknowledgement
	for _, name := range a.removed {
		_, sent := p.sent[name]
		_, acked := p.acked[name]
		if sent || acked {
			removed = append(removed, name)
		} else {
			unshared += nameCost + 2*len(name)
		}
	}
	a.removed = removed
	return unshared
}

// mostPending is how many answers of a kind may wait for a word of the client, mostRejections
// how many rejections are remembered.
const mostPending, mostRejections = 256, 8

// send notes an answer. It reports whether the client may be sent more although it said
// nothing to the answers before.
func (p *progress) send(a answer, now time.Time) bool {
	a.apply(&p.sent, now)
	p.newest = a.nonce
	p.pending = append(p.pending, a)
	waiting := 0
	for _, one := range p.pending {
		waiting += len(one.put)
	}
	return len(p.pending) <= mostPending && waiting <= 2*len(p.sent)+mostNews
}

// hear notes what the client says to the answer of a nonce; text is empty where it
// acknowledges it. It returns that answer, nil for none, and how many bytes fewer are kept.
func (p *progress) hear(nonce, text string, now time.Time) (to *answer, freed int) {
	i := slices.IndexFunc(p.pending, func(a answer) bool { return a.nonce == nonce })
	if i < 0 {
		return nil, 0
	}
	a := p.pending[i]
	p.pending = append([]answer(nil), p.pending[i+1:]...)
	if text != "" {
		r := &Rejection{At: now, Text: text, Resources: a.names()}
		p.rejected = append(slices.DeleteFunc(p.rejected, func(old *Rejection) bool {
			return len(old.Resources) != 1 || slices.Equal(old.Resources, r.Resources)
		}), r)
		p.rejected = p.rejected[max(0, len(p.rejected)-mostRejections):]
		return &a, 0
	}
	a.apply(&p.acked, now)
	for _, one := range a.put {
		if _, has := p.sent[one.name]; !has && !slices.ContainsFunc(p.pending, func(later answer) bool { return slices.Contains(later.removed, one.name) }) {
			delete(p.acked, one.name) // the client wants it no more since it was sent
		}
	}
	p.settle()
	if freed = p.free(a.removed); len(p.foreign) > 0 {
		freed += p.free(a.names())
	}
	return &a, freed
}

// rejection is the newest one that is left, nil for none.
func (p *progress) rejection() *Rejection {
	if len(p.rejected) == 0 {
		return nil
	}
	return p.rejected[len(p.rejected)-1]
}

// settle ends rejections of what the client has acknowledged since, or does not want any more.
func (p *progress) settle() {
	misses := func(name string) bool { return p.sent[name].version != p.acked[name].version }
	p.rejected = slices.DeleteFunc(p.rejected, func(r *Rejection) bool { return !slices.ContainsFunc(r.Resources, misses) })
}

// forget removes resources that the client wants no more, and returns how many bytes fewer
// are kept.
func (p *progress) forget(names []string) int {
	for _, name := range names {
		delete(p.sent, name)
		delete(p.acked, name)
	}
	p.settle()
	return p.free(names)
}

// free returns what these resources took, of those that were not there.
func (p *progress) free(names []string) int {
	freed := 0
	for _, name := range names {
		freed += p.foreign[name]
		delete(p.foreign, name)
	}
	return freed
}

// names are those of the resources of an answer, sorted.
func (a answer) names() []string {
	names := make([]string, 0, len(a.put))
	for _, one := range a.put {
		names = append(names, one.name)
	}
	slices.Sort(names)
	return names
}

// apply makes the resources those after the answer.
func (a answer) apply(to *map[string]heldResource, now time.Time) {
	if a.whole {
		kept := make(map[string]heldResource, len(a.put))
		for _, r := range a.put {
			if one, had := (*to)[r.name]; had {
				kept[r.name] = one
			}
		}
		*to = kept
	}
	for _, r := range a.put {
		if (*to)[r.name].version != r.version {
			(*to)[r.name] = heldResource{r.version, now}
		}
	}
	for _, name := range a.removed {
		delete(*to, name)
	}
}

// follows reports whether the client has none but these versions, and was sent none but
// these.
func (p *progress) follows(versions map[string]string) bool {
	for _, all := range []map[string]heldResource{p.sent, p.acked} {
		for name, one := range all {
			if versions[name] != one.version {
				return false
			}
		}
	}
	return true
}
