// Package publish turns a verdict into slices and the difference between two sets
// of slices into the smallest set of writes.
//
// In come members and the slices as they are; out go the slices as they should
// be, and the writes that lead there. It is pure: no I/O, no clock, no order
// that depends on the input's.
package publish
