package hold

// Limit is how many connections may be held with that limit of descriptors.
func Limit(descriptors uint64, checks int) int { return maxConnections(descriptors, checks) }
