package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// costFile is where the holder writes what a keep-alive costs, in nanoseconds.
	costFile = "cost"
	// costRounds are how often it sends one on each connection, and costApart is the time
	// between two: the other side answers such a packet twice a second at most.
	costRounds, costApart = 9, 600 * time.Millisecond
)

// writeCost measures what a keep-alive costs the kernel. It sends one itself, because
// those of the kernel's timers are on the account of no process: a socket that leaves
// the mode for repairs sends the same packet. On the loopback device all that follows
// of it is done within the call: the packet, the other side's part, and its answer. The
// least of all rounds is the one that other programs disturbed least.
func writeCost(conns []*net.TCPConn) error {
	const leave, quietly = 0, -1
	var costs []float64
	for range costRounds {
		time.Sleep(costApart)
		with, err := repair(conns, leave)
		if err != nil {
			return err
		}
		without, err := repair(conns, quietly)
		if err != nil {
			return err
		}
		costs = append(costs, float64(with-without)/float64(len(conns)))
	}
	return os.WriteFile(costFile, []byte(strconv.FormatFloat(slices.Min(costs), 'f', 0, 64)), 0o600)
}

// repair has each connection enter the mode for repairs and leave it, and returns the
// CPU time of that.
func repair(conns []*net.TCPConn, leave int) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := spent()
	if err != nil {
		return 0, err
	}
	for _, conn := range conns {
		raw, err := conn.SyscallConn()
		if err != nil {
			return 0, err
		}
		var failed error
		err = raw.Control(func(fd uintptr) {
			if failed = unix.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, unix.TCP_REPAIR, 1); failed == nil {
				failed = unix.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, unix.TCP_REPAIR, leave)
			}
		})
		if err != nil || failed != nil {
			return 0, fmt.Errorf("repair a socket: %w %w", err, failed)
		}
	}
	after, err := spent()
	return after - before, err
}

// spent is the CPU time of this thread, in the kernel too.
func spent() (time.Duration, error) {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		return 0, err
	}
	return time.Duration(at.Nano()), nil
}

// readCost waits for what the holder has written.
func readCost(dir string) (float64, error) {
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var text []byte
		if text, err = os.ReadFile(filepath.Join(dir, costFile)); err == nil && len(text) > 0 {
			return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		}
	}
	return 0, fmt.Errorf("wait for what a keep-alive costs: %w", err)
}
