// Package bubble runs tests in bubbles of testing/synctest.
package bubble

import (
	"testing"
	"testing/synctest"
)

// Test is synctest.Test, which before Go 1.27 the race detector ends now and then
// with a SIGSEGV: there the timers of a bubble that are due at one instant share one
// state of the detector, which two processors may use at once. See
// https://github.com/golang/go/issues/78156.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	defer onOneProcessor()()
	synctest.Test(t, f)
}
