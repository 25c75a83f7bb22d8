package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// process is one program of a case. It dies with the rig.
type process struct {
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

// command prepares a program.
func command(ctx context.Context, path string, args ...string) *process {
	p := &process{cmd: exec.CommandContext(ctx, path, args...), stderr: &bytes.Buffer{}} //nolint:gosec // programs of the case
	p.cmd.Stderr = p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 3 * time.Second
	return p
}

// part prepares this program in another part of the case.
func part(ctx context.Context, name string, c probing.Case) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	about, err := json.Marshal(c)
	return command(ctx, self, name, string(about)), err
}

func (p *process) start() error {
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.cmd.Path, err)
	}
	return nil
}

// stop ends the program and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// cpu returns how much time all CPUs together have spent on the process, in the
// kernel too, by the kernel's clock of that process.
func (p *process) cpu() (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var spent unix.Timespec
	clock := int32(^p.cmd.Process.Pid<<3 | scheduled)
	if err := unix.ClockGettime(clock, &spent); err != nil {
		return 0, fmt.Errorf("read the CPU time of %s, which may have ended: %w\n%.2000s", p.cmd.Path, err, p.stderr)
	}
	return time.Duration(spent.Nano()), nil
}

// memory returns what is resident now and was at most, in bytes.
func (p *process) memory() (resident, peak float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		kilobytes, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmRSS:":
			resident = kilobytes * 1024
		case "VmHWM:":
			peak = kilobytes * 1024
		}
	}
	return resident, peak, nil
}

// descriptors returns how many files the program has open, and the kernel's memory
// for those that are sockets: the objects of an idle TCP connection with empty
// buffers. Without the right to read their sizes that is 0.
func (p *process) descriptors() (open, socketBytes float64, err error) {
	dir := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	sockets := 0
	for _, e := range entries {
		if to, err := os.Readlink(dir + "/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			sockets++
		}
	}
	slabs, err := os.ReadFile("/proc/slabinfo")
	if err != nil {
		return float64(len(entries)), 0, nil //nolint:nilerr // only root may read it
	}
	each := 0.0
	for line := range strings.Lines(string(slabs)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 4:
		case slices.Contains([]string{"TCP", "sock_inode_cache", "filp", "dentry", "eventpoll_epi"}, fields[0]):
			size, _ := strconv.ParseFloat(fields[3], 64)
			each += size
		}
	}
	return float64(len(entries)), float64(sockets) * each, nil
}
