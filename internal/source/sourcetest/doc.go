// Package sourcetest is the conformance suite of sources: what the rest of the
// program relies on, whatever a source reads from. In comes a source and a world
// that the suite may change, break and stall; out come failures of the test.
//
// It never looks at how a source works. What a source's world cannot do is left
// out only where the source's own test says why.
package sourcetest
