package system

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for child := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(child); err == nil && isStray(child, session) {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it may be gone already
			}
		}
	}
}

// isStray reports whether the child has ended and has another session.
func isStray(child string, session int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", child, "stat"))
	if err != nil {
		return false
	}
	// The name, which may hold anything, is in parentheses; state, parent, group
	// and session follow it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return len(fields) > 3 && fields[0] == "Z" && fields[3] != strconv.Itoa(session)
}
