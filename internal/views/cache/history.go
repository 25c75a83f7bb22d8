package cache

// mostTurns is how many turns of a Service are remembered. A Service turns where an
// event of it follows one of its slices, or the other way round; so mostly once.
const mostTurns = 8

// history is in which order the events of one Service and of its slices came. The
// two watches are not ordered between each other, so another replica may have taken
// them in another order and have had views that were never here. A token of that time
// cannot be gone on from.
type history struct {
	// last is the newest event of each kind.
	last  Position
	kind  Kind // of the newest event of all
	turns []turn
	// blind are tokens from before turns that were forgotten.
	blind Position
}

// turn is the first event of a kind after one of the other.
type turn struct {
	kind Kind
	at   Position
}

// note remembers an event of the kind.
func (h *history) note(kind Kind, revision Revision) {
	turned := h.last == Position{} || h.kind != kind
	h.kind, h.last[kind] = kind, revision
	if !turned {
		return
	}
	if len(h.turns) == mostTurns {
		oldest := h.turns[0]
		other := 1 - oldest.kind
		h.blind[other] = max(h.blind[other], oldest.at[other])
		h.turns = h.turns[1:]
	}
	h.turns = append(h.turns, turn{kind, h.last})
}

// crossed reports whether a reader that was at the position may have seen a state of the
// Service that was never here: an event of one kind that is later than the position
// came here before one of the other kind that is not.
func (h *history) crossed(at Position) bool {
	if h.blind[Services] > at[Services] || h.blind[Slices] > at[Slices] {
		return true
	}
	for _, t := range h.turns {
		if other := 1 - t.kind; t.at[other] > at[other] && t.at[t.kind] <= at[t.kind] {
			return true
		}
	}
	return false
}
