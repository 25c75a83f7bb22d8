package xds

import (
	"maps"
	"slices"
	"time"
)

// held is a resource that a client has.
type held struct {
	version string
	at      time.Time
}

// progress is what a client was sent of one kind, and what it said to that.
type progress struct {
	// asked says that the client wants resources of the kind, answered that it was sent
	// an answer on this stream.
	asked, answered bool
	// names is how many it asked for.
	names int
	// sent is the newest that it was sent of each resource, acked what it acknowledged.
	sent, acked map[string]held
	// pending are the answers that it has said nothing to, the oldest first.
	pending  []answer
	rejected *Rejection
}

// answer is one message to a client.
type answer struct {
	nonce   string
	put     map[string]string // versions by name
	removed []string
	// whole says that what is not in put is gone.
	whole bool
}

// Rejection is what a client said to an answer that it did not take.
type Rejection struct {
	At time.Time `json:"at"`
	// Text is the client's own.
	Text string `json:"text"`
	// Resources are those of the answer.
	Resources []string `json:"resources,omitempty"`
}

// begin notes what a client says it has when it begins.
func (p *progress) begin(versions map[string]string, now time.Time) {
	p.asked = true
	p.sent, p.acked = make(map[string]held), make(map[string]held)
	for name, version := range versions {
		p.sent[name] = held{version, now}
		p.acked[name] = held{version, now}
	}
}

// send notes an answer.
func (p *progress) send(a answer, now time.Time) {
	a.apply(&p.sent, now)
	p.answered = true
	p.pending = append(p.pending, a)
}

// hear notes what the client says to the answer of a nonce; text is empty where it
// acknowledges it. It reports whether there is such an answer.
func (p *progress) hear(nonce, text string, now time.Time) bool {
	for i, a := range p.pending {
		if a.nonce != nonce {
			continue
		}
		p.pending = append([]answer(nil), p.pending[i+1:]...)
		if text != "" {
			p.rejected = &Rejection{At: now, Text: text, Resources: sortedKeys(a.put)}
			return true
		}
		p.rejected = nil
		a.apply(&p.acked, now)
		return true
	}
	return false
}

// forget removes resources that the client wants no more.
func (p *progress) forget(names []string) {
	for _, name := range names {
		delete(p.sent, name)
		delete(p.acked, name)
	}
}

// apply makes the resources those after the answer.
func (a answer) apply(to *map[string]held, now time.Time) {
	if a.whole {
		kept := make(map[string]held, len(a.put))
		for name := range a.put {
			if one, had := (*to)[name]; had {
				kept[name] = one
			}
		}
		*to = kept
	}
	for name, version := range a.put {
		if (*to)[name].version != version {
			(*to)[name] = held{version, now}
		}
	}
	for _, name := range a.removed {
		delete(*to, name)
	}
}

// follows reports whether the client has none but these versions, and was sent none but
// these.
func (p *progress) follows(versions map[string]string) bool {
	for _, all := range []map[string]held{p.sent, p.acked} {
		for name, one := range all {
			if versions[name] != one.version {
				return false
			}
		}
	}
	return true
}

func sortedKeys[V any](all map[string]V) []string {
	return slices.Sorted(maps.Keys(all))
}
