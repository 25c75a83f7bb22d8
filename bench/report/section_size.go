package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// measureSize builds the program as the image does.
func measureSize(ctx context.Context, _ form) (string, error) {
	dir, err := os.MkdirTemp("", "bench-size-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the folder for what is temporary
	path := filepath.Join(dir, "program")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=v1.2.3", "-o", path, "./cmd/ionos-endpointslice-controller") //nolint:gosec // constants
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("BenchmarkBinary/of=all 1 %d B\n", info.Size()), nil
}
