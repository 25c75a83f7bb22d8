package fleet

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// InstallProgram copies this program into a folder, for a container whose image does not have it.
func InstallProgram(folder, name string) (err error) {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(own)
	if err != nil {
		return err
	}
	defer from.Close()
	path := filepath.Join(folder, name)
	// Beside its place first, so that half of it is never run. What a copy that broke off left
	// there cannot be written to. If it cannot be removed either, opening says why.
	_ = os.Remove(path + ".part")
	to, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o555) //nolint:gosec // others run it
	if err != nil {
		return err
	}
	if _, err = io.Copy(to, from); err != nil {
		_ = to.Close()
		return fmt.Errorf("copy this program to %s: %w", path, err)
	}
	if err := to.Close(); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// AwaitFile waits until a file is there.
func AwaitFile(ctx context.Context, path string) error {
	ticker := time.NewTicker(drainLook)
	defer ticker.Stop()
	for {
		_, err := os.Stat(path)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", path, err)
		case <-ticker.C:
		}
	}
}
