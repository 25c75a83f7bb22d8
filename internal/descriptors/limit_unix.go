//go:build unix

package descriptors

import "syscall"

// limit returns how many files this process may have open, 0 where that is
// not known.
func limit() uint64 {
	var found syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &found); err != nil {
		return 0
	}
	return uint64(found.Cur) //nolint:unconvert // it is signed on some systems
}
