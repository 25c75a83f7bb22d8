package hold

const (
	// reserved is how many descriptors the API servers' connections, listeners and
	// files may need.
	reserved = 64
	// assumed is the limit of descriptors where the system does not tell.
	assumed = 1024
	// most is what nothing has to exceed.
	most = 1 << 20
)

// MaxConnections returns how many connections may be held: half of the descriptors
// that health checks, of which there are so many at a time, and everything else
// leave. It is at least 1.
func MaxConnections(checks int) int { return maxConnections(descriptors(), checks) }

func maxConnections(limit uint64, checks int) int {
	if limit == 0 {
		limit = assumed
	}
	return max(1, (int(min(limit, most))-checks-reserved)/2)
}
