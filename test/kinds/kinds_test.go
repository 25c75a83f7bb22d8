package kinds_test

import "testing"

// TestTheKinds holds every test that needs an API server: one serves them all.
func TestTheKinds(t *testing.T) {
	w := newWorld(t)
	t.Run("Contract78 the API server and the program refuse the same", w.refusesTheSame)
	t.Run("Contract78 the API server and the program have the same limits", w.haveTheSameLimits)
	t.Run("what is unknown is not stored", w.dropsWhatIsUnknown)
	t.Run("kubectl shows what people look for", w.showsWhatPeopleLookFor)
}
