package xds

import "testing"

// TestContract147NamesCountForTheIdentity: what one stream says leaves another one of the same
// identity less, and one of another identity as much as before.
func TestContract147NamesCountForTheIdentity(t *testing.T) {
	s, fleet := &Server{}, &account{}
	one, two := &client{server: s, account: fleet}, &client{server: s, account: fleet}
	other := &client{server: s, account: &account{}}
	if surplus := one.say(namesAtOnce - 1); surplus > 0 {
		t.Errorf("the first names are %v too many", surplus)
	}
	if surplus := two.say(namesASecond); surplus <= 0 {
		t.Error("a second stream has room of its own")
	}
	if surplus := other.say(namesAtOnce - 1); surplus > 0 {
		t.Errorf("another identity is told that its names are %v too many", surplus)
	}
}
