package transport

// ShareOf is SocketShare with that limit.
func ShareOf(limit uint64, wanted int) int { return share(limit, wanted) }

// SpareOf is SpareSockets with that limit.
func SpareOf(limit uint64, checks int) int { return spare(limit, checks) }
