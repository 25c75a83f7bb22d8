package transport

import (
	"cmp"
	"syscall"
)

const (
	// reserved is how many descriptors the connections of API servers, listeners and
	// files may need, where the limit is not so low that half of it is less.
	reserved = 64
	// assumed is the limit where the system does not tell.
	assumed = 1024
	// most is what nothing has to exceed.
	most = 1 << 20
)

// SocketShare shares out the files that this process may have open: health checks, held
// connections and clients each have a bound of their own, but sockets of all of them come
// from one limit of the system. What takes all of it leaves none for the API servers, and a
// check without a descriptor finds no dead endpoint.
//
// It returns how many sockets of one use may be open of those that are wanted: at
// most a quarter of the limit. The uses are health checks, and the clients of views
// and those of xDS.
func SocketShare(wanted int) int { return share(descriptorLimit(), wanted) }

func share(limit uint64, wanted int) int { return min(wanted, max(1, bounded(limit)/4)) }

// SpareSockets returns how many sockets may be open that only make something faster: half of
// what health checks, of which there are so many at a time, and everything else leave.
// It is at least 1.
func SpareSockets(checks int) int { return spare(descriptorLimit(), checks) }

func spare(limit uint64, checks int) int {
	all := bounded(limit)
	return max(1, (all-checks-min(reserved, all/2))/2)
}

// bounded returns a limit to reckon with.
func bounded(limit uint64) int {
	return int(min(cmp.Or(limit, assumed), most))
}

// descriptorLimit returns how many files this process may have open, 0 where that is
// not known.
func descriptorLimit() uint64 {
	var found syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &found); err != nil {
		return 0
	}
	return uint64(found.Cur) //nolint:unconvert // it is signed on some systems
}
