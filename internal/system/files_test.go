package system_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestReadReturnsTheWholeFileAsItIsNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	for _, want := range []string{"first", "", "another"} {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := system.ReadFile(path, 7); err != nil || string(got) != want {
			t.Errorf("got %q and %v, want %q", got, err, want)
		}
	}
}

// A FIFO that nobody writes is a file that hangs.
func TestContract181WhatIsNoSmallRegularFileIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large, fifo := filepath.Join(dir, "large"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(large, []byte("12345678"), 0o600), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		large: "larger than 7 bytes", fifo: "not a regular file", dir: "not a regular file", "/dev/zero": "not a regular file", filepath.Join(dir, "none"): "no such file",
	} {
		if got, err := system.ReadFile(path, 7); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%s: got %q and %v, want %q", path, got, err, want)
		}
	}
	if _, err := system.ReadFile(filepath.Join(dir, "none"), 7); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
}

func TestContract181AFileSystemThatHangsCostsOneGoroutine(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		release := make(chan struct{})
		read := system.Reading(5*time.Second, func(path string) ([]byte, error) {
			if path == "hangs" {
				begun.Add(1)
				<-release
			}
			return []byte("text"), nil
		})
		for i := range 100 {
			start := time.Now()
			if _, err := read("hangs"); !errors.Is(err, system.ErrHangs) {
				t.Fatalf("got %v, want that it hangs", err)
			}
			if took := time.Since(start); took > 0 && i > 0 || took > 5*time.Second {
				t.Fatalf("call %d waited %s, want 5 s the first time and none after", i, took)
			}
			if got, err := read("works"); err != nil || string(got) != "text" {
				t.Fatalf("another file: got %q and %v", got, err)
			}
		}
		if got := begun.Load(); got != 1 {
			t.Errorf("got %d reads of a file that hangs, want one", got)
		}
		close(release)
		synctest.Wait()
		if got, err := read("hangs"); err != nil || string(got) != "text" {
			t.Errorf("when it answers again: got %q and %v", got, err)
		}
	})
}
