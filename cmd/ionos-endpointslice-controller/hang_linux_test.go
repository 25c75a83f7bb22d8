package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// TestContract30AProgramThatHangsEndsAfterASignal: nobody reads what it writes, so the
// write does not end, as no read of a file system that hangs does.
func TestContract30AProgramThatHangsEndsAfterASignal(t *testing.T) {
	t.Parallel()
	for _, program := range []string{built.Program(t), built.Views(t)} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			const setPipeSize = 1031 // F_SETPIPE_SZ: the output is longer than a page
			if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, write.Fd(), setPipeSize, 4096); errno != 0 {
				t.Fatal(errno)
			}
			command := exec.CommandContext(t.Context(), program, "config", "docs")
			command.Stdout = write
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			_ = write.Close()
			if _, err := read.Read(make([]byte, 1)); err != nil { // it writes
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- command.Wait() }()
			if err := command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
			case <-time.After(20 * time.Second): // 10 s, and a machine that is busy
				_ = command.Process.Kill()
				t.Errorf("%s does not end", program)
				<-ended
			}
			if status := command.ProcessState.ExitCode(); status != 1 {
				t.Errorf("got status %d, want 1", status)
			}
		})
	}
}
