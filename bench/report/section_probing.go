package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// measureProbing builds what checks beside us, and measures all cases.
func measureProbing(ctx context.Context, f form) (string, error) {
	build := exec.CommandContext(ctx, filepath.Join("..", "tools", "build.sh"), "bench") //nolint:gosec // our own script
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("tools/build.sh bench: %w; run in the folder bench", err)
	}
	version := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "github.com/prometheus/blackbox_exporter")
	version.Dir = filepath.Join("..", "tools", "blackbox")
	out, err := version.Output()
	if err != nil {
		return "", fmt.Errorf("ask for the version of blackbox_exporter: %w", err)
	}
	cases := probing.Short()
	if f.long {
		cases = probing.Default()
		for i := range cases {
			cases[i].Rounds = max(30, 2*cases[i].Rounds)
		}
	}
	lines, err := probing.Measure(ctx, cases, os.Stderr)
	return "blackbox: " + strings.TrimSpace(string(out)) + "\n" + lines, err
}
