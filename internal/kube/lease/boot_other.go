//go:build !linux

package lease

import "time"

// sinceBoot knows nothing here: a suspended machine is noticed when a renewal
// fails.
func sinceBoot() time.Duration { return 0 }
