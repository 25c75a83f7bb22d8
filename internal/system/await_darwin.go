package system

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the child has exited, and leaves it unreaped. The
// kernel's waitid would do, but returns too early on macOS (golang/go#19314).
func awaitExit(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(queue)
	var event unix.Kevent_t
	unix.SetKevent(&event, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	event.Fflags = unix.NOTE_EXIT
	// A child that has exited already cannot be watched, which is an error too.
	for {
		if _, err := unix.Kevent(queue, []unix.Kevent_t{event}, make([]unix.Kevent_t, 1), nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
