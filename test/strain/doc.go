// Package strain does to a running program what a bad day does: it stops it for
// a while, takes its descriptors, its share of the CPU and its disk away, and
// steps its wall clock. Each fault ends with the test at the latest.
//
// All of it works on processes that the test has started, by their ids. Limits of
// descriptors and the CPU need root, a full disk a mount namespace besides; a
// test that lacks them is skipped, or fails where CI=true stands for a machine
// that has to have everything.
package strain
