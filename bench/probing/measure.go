package probing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// namespace makes the network of a case and executes its arguments in it. Only
// 10.64.0.0/12 is there; what is sent to 10.80.0.0/12 comes back in and is
// dropped. All connections of a minute may be left in TIME_WAIT.
const namespace = `set -e
ip link set lo up
ip route add local 10.64.0.0/12 dev lo
ip route add 10.80.0.0/12 dev lo
sysctl -q -w net.ipv4.tcp_max_tw_buckets=1000000 || true
exec "$@"`

// limit bounds a case beyond its rounds: 10,000 connections are opened within 30 s.
const limit = 90 * time.Second

// Measure measures one case after the other. It returns a line for each case, as go
// test -bench prints it. It runs in the module bench and reports its progress.
func Measure(ctx context.Context, cases []Case, progress io.Writer) (string, error) {
	dir, err := os.MkdirTemp("", "probing")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	rig, daemon, err := build(ctx, dir)
	if err != nil {
		return "", err
	}
	root, err := root(ctx)
	if err != nil {
		return "", err
	}
	blackbox := filepath.Join(root, ".tools", "bin", "blackbox_exporter")
	var all strings.Builder
	for i, c := range cases {
		c.Daemon, c.Blackbox = daemon, blackbox
		if _, err := os.Stat(blackbox); err != nil && c.Side == Blackbox {
			return "", fmt.Errorf("%w; run tools/build.sh bench", err)
		}
		fmt.Fprintf(progress, "probing %d of %d: %s\n", i+1, len(cases), c.Name())
		line, err := measureOne(ctx, rig, c)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name(), err)
		}
		fmt.Fprintf(progress, "  %.180s\n", line)
		all.WriteString(line)
	}
	return all.String(), nil
}

// measureOne runs the rig in a namespace of its own.
func measureOne(ctx context.Context, rig string, c Case) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+time.Duration(c.Rounds)*Interval)
	defer cancel()
	about, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	args := []string{"--net"}
	if os.Geteuid() != 0 {
		args = []string{"--user", "--map-root-user", "--net"}
	}
	args = append(args, "--", "sh", "-c", namespace, "sh", rig, "case", string(about))
	cmd := exec.CommandContext(ctx, "unshare", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run the rig in a network namespace (needs Linux, unshare, ip, and root or user namespaces): %w: %.2000s", err, stderr.String())
	}
	return string(out), nil
}

// root is the folder of the daemon's module.
func root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/ablmnzde/ionoscloud-endpointslice-controller").Output()
	if err != nil {
		return "", fmt.Errorf("find the module of the daemon: %w; run in the folder bench", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build builds the rig and the daemon.
func build(ctx context.Context, dir string) (rig, daemon string, err error) {
	root, err := root(ctx)
	if err != nil {
		return "", "", err
	}
	rig, daemon = filepath.Join(dir, "rig"), filepath.Join(dir, "daemon")
	for _, b := range []struct{ in, out, what string }{
		{filepath.Join(root, "bench"), rig, "./probing/rig"},
		{root, daemon, "./cmd/ionos-endpointslice-controller"},
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", b.out, b.what) //nolint:gosec // our own packages
		cmd.Dir = b.in
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("build %s: %w\n%s", b.what, err, out)
		}
	}
	return rig, daemon, nil
}
