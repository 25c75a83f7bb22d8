// Package narration says what is worth telling of what happened: log lines,
// Events, the last word on every node, and the newest reads and changes.
//
// In comes one outcome for each event of a pool or a target, and the memory of
// what was told before; out go the memory for the next time and a story. A state
// that lasts is told once. It is pure: it logs, announces and shows nothing itself.
package narration
