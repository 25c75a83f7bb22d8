//go:build race

package controller_test

import "flag"

// With the race detector a history takes four times as long: a third of them is tried,
// and make simulate tries the others, and more.
func init() { _ = flag.Set("histories", "4") }
