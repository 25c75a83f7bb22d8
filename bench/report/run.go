package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// goTest returns what go test prints, also when it fails, and shows it while it runs.
func goTest(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...) //nolint:gosec // our own arguments
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("go test %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), nil
}
