package probe

import "time"

// MoveWallClock makes it look to the checker as if the wall clock was moved since
// the start.
func (c *Checker) MoveWallClock(by time.Duration) { c.startWall = c.startWall.Add(-by) }
