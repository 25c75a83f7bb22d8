package system

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the child has exited, and leaves it unreaped.
func awaitExit(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}
