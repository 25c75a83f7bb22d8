// Package strain puts a running program under stress: it stops the program for a
// while, takes its descriptors, its share of the CPU and its disk away, and steps its
// wall clock. Each fault ends with the test at the latest.
//
// All of it works on processes that the test has started, by their ids. Limits of
// descriptors and the CPU need root, and a full disk also needs a mount namespace. A
// test without them is skipped, or fails with CI=true: such a machine must have
// everything.
package strain
