//go:build race

package guard_test

import "flag"

// The guard has one goroutine, and with the race detector it takes eight times as long:
// a quarter of the worlds is drawn, and make simulate draws them all.
func init() { _ = flag.Set("rapid.checks", "25") }
