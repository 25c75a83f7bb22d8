package strain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Disk is a small file system of its own.
type Disk struct {
	// Path is where it is mounted.
	Path string
	t    testing.TB
}

// diskSize holds a few files of a test.
const diskSize = 1 << 20

// NewDisk mounts a disk until the test ends. The caller is in a mount namespace of
// its own: the machine sees nothing of it.
func NewDisk(t testing.TB) *Disk {
	t.Helper()
	d := &Disk{Path: t.TempDir(), t: t}
	if err := unix.Mount("strain", d.Path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0777", diskSize)); err != nil {
		lacking(t, fmt.Errorf("mount a disk at %s: %w", d.Path, err))
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.Path, unix.MNT_DETACH); err != nil {
			t.Errorf("strain: unmount %s: %v", d.Path, err)
		}
	})
	return d
}

// Fill takes all the room that is left: nothing more can be written.
func (d *Disk) Fill() {
	d.t.Helper()
	file, err := os.Create(d.filling())
	if err != nil {
		d.t.Fatalf("strain: fill the disk: %v", err)
	}
	defer file.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = file.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		d.t.Fatalf("strain: fill the disk: got %v, want %v", err, unix.ENOSPC)
	}
}

// Free gives the room back.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.filling()); err != nil {
		d.t.Fatalf("strain: free the disk: %v", err)
	}
}

// filling is the file that takes the room.
func (d *Disk) filling() string { return filepath.Join(d.Path, "filling") }
