package probe

import "time"

// MoveWallClock makes the checker believe that the wall clock was moved since
// the start.
func (c *Checker) MoveWallClock(by time.Duration) { c.startWall = c.startWall.Add(-by) }
