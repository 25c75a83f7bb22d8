package netns

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Dial connects from inside a named namespace. A socket belongs to the namespace
// of the thread that made it, wherever it is used later.
func Dial(ctx context.Context, name, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	dialled := make(chan result, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and carries the
		// namespace nowhere else.
		runtime.LockOSThread()
		if err := enterNamed(name); err != nil {
			dialled <- result{err: err}
			return
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		dialled <- result{conn, err}
	}()
	r := <-dialled
	return r.conn, r.err
}

// enterNamed moves the calling thread.
func enterNamed(name string) error {
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", name, err)
	}
	return nil
}
