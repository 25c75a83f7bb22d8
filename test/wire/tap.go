package wire

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// tunDevice makes TAP devices.
const tunDevice = "/dev/net/tun"

// plug makes the device of an end and brings it up. The device lives as long
// as the file.
func plug(end End) (*os.File, error) {
	var file *os.File
	err := inside(end.Namespace, func() error {
		var err error
		if file, err = openTap(end.Device); err != nil {
			return err
		}
		// A TAP device has no neighbours to ask whether an IPv6 address is free,
		// so it needs none of its own; the lines of the kernel stay apart from
		// what the test sends.
		output, err := exec.Command("ip", "link", "set", end.Device, "addrgenmode", "none", "up").CombinedOutput()
		if err != nil {
			_ = file.Close() // the error before says more
			return fmt.Errorf("bring %s up: %w: %s", end.Device, err, output)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("make the end %s in %q: %w", end.Device, end.Namespace, err)
	}
	return file, nil
}

// openTap makes a TAP device in the namespace of the calling thread.
func openTap(name string) (*os.File, error) {
	fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", tunDevice, err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		_ = unix.Close(fd) // the error before says more
		return nil, fmt.Errorf("make the device %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// inside runs a function on a thread that is in the network namespace; what the
// function starts is there too. The thread ends with it rather than find its
// way back.
func inside(namespace string, do func() error) error {
	if namespace == "" {
		return do()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- func() error {
			file, err := os.Open(namespace)
			if err != nil {
				return err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter %s: %w", namespace, err)
			}
			return do()
		}()
	}()
	return <-done
}

// refuse ends a test that cannot have a wire. If only the rights or the device are
// missing, the test is skipped, or fails with CI=true: such a machine must have
// everything.
func refuse(t testing.TB, err error) {
	t.Helper()
	_, missing := os.Stat(tunDevice)
	lacks := missing != nil || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
	switch {
	case !lacks:
		t.Fatalf("wire: %v", err)
	case os.Getenv("CI") == "true":
		t.Fatalf("wire: %v; CI=true forbids to skip for that: run as root on a kernel with TAP devices", err)
	default:
		t.Skipf("wire: %v", err)
	}
}
