package system

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reapStrays collects processes that a program left behind in a session of their
// own and that have ended. In a container we are often process 1, the parent of
// orphans, and the table of processes would fill up. Children in our own session
// are left alone: another part of the program may wait for them.
func reapStrays() {
	session, err := unix.Getsid(0)
	if err != nil {
		return
	}
	for _, p := range processes(func(p process) bool {
		return p.parent == os.Getpid() && p.state == "Z" && p.session != session
	}) {
		_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil) // it may be gone already
	}
}
