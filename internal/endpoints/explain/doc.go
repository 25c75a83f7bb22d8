// Package explain makes of what happened what people read: log lines, Events, the
// newest decision on every node, and the newest reads and changes.
//
// In comes one outcome for each event of a pool or a target, and the memory of
// what was reported before; out go the memory for the next time and a story. A
// state that lasts is reported once. It is pure: it logs, announces and shows nothing itself.
package explain
