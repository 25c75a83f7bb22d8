// Package inventory names what flows through the program: nodes come in from a
// source, candidates and decisions leave the filter, results of probes become
// streaks, and members are what the slices publish. It also holds the one JSON
// decoder for inventories.
//
// It is the leaf that every other package imports. It does no I/O, keeps no
// state and decides nothing.
package inventory
