// Package poll lets a test wait until a condition holds, for as little as can be of
// the processors that what it waits for needs as well.
package poll

import (
	"testing"
	"time"
)

// least is how long a wait lasts between two looks, at least.
const least = 20 * time.Millisecond

// Until looks until the condition holds, and fails the test with the complaint where it
// does not within the limit. Between two looks it waits nine times as long as a look
// took, a second at most.
func Until(t testing.TB, limit time.Duration, condition func() bool, complaint func() string) {
	t.Helper()
	for end := time.Now().Add(limit); ; {
		began := time.Now()
		if condition() {
			return
		}
		now := time.Now()
		if now.After(end) {
			t.Fatalf("waited %v in vain: %s", limit, complaint())
		}
		time.Sleep(min(max(9*now.Sub(began), least), time.Second))
	}
}
