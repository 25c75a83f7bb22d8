package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
)

// fleetSize is how many backends there are: enough that one is a minority.
const fleetSize = 5

// fleet are the backends, one process each, on loopback addresses of their own
// and one port, as the nodes of a cluster have.
type fleet struct {
	program string
	port    uint16
	members []*member
}

// member is one backend.
type member struct {
	name    string
	address netip.Addr
	process *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

// newFleet finds a port that is free at every address; nothing is started yet.
func newFleet(ctx context.Context) (*fleet, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &fleet{program: program}
	for i := range fleetSize {
		address := netip.AddrFrom4([4]byte{127, 0, 0, byte(11 + i)})
		f.members = append(f.members, &member{name: fmt.Sprintf("worker-%d", i+1), address: address})
	}
	const tries = 20
	for range tries {
		f.port, err = f.commonPort(ctx)
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return nil, fmt.Errorf("%w\n\n%s", err, noAliases)
	}
	return f, err
}

// noAliases is for machines whose loopback interface has one address only.
const noAliases = `The backends of the demo need the addresses 127.0.0.11 to 127.0.0.15. Linux has
all of 127.0.0.0/8; on macOS this command adds them until the next restart:

  for i in 11 12 13 14 15; do sudo ifconfig lo0 alias 127.0.0.$i; done`

// commonPort returns a port that is free at every address at this moment.
func (f *fleet) commonPort(ctx context.Context) (uint16, error) {
	var config net.ListenConfig
	port := uint16(0)
	for _, m := range f.members {
		listener, err := config.Listen(ctx, "tcp4", netip.AddrPortFrom(m.address, port).String())
		if err != nil {
			return 0, err
		}
		defer listener.Close()
		bound, err := netip.ParseAddrPort(listener.Addr().String())
		if err != nil {
			return 0, err
		}
		port = bound.Port()
	}
	return port, nil
}

// start starts a backend and returns when it listens.
func (f *fleet) start(ctx context.Context, index int) error {
	m := f.members[index]
	address := netip.AddrPortFrom(m.address, f.port).String()
	m.process = exec.CommandContext(ctx, f.program, "-backend", address) //nolint:gosec // it is this very program
	m.process.Stderr = os.Stderr
	m.process.SysProcAttr = apart()
	var err error
	if m.orders, err = m.process.StdinPipe(); err != nil {
		return err
	}
	answers, err := m.process.StdoutPipe()
	if err != nil {
		return err
	}
	m.answers = bufio.NewScanner(answers)
	if err := m.process.Start(); err != nil {
		return fmt.Errorf("start backend %s: %w", m.name, err)
	}
	return m.expect(listening)
}

// tell gives a backend an order and returns when the backend obeys.
func (f *fleet) tell(index int, order string) error {
	m := f.members[index]
	if _, err := fmt.Fprintln(m.orders, order); err != nil {
		return fmt.Errorf("tell backend %s to %s: %w", m.name, order, err)
	}
	return m.expect(order)
}

// tellAll gives every backend an order.
func (f *fleet) tellAll(order string) error {
	for i := range f.members {
		if err := f.tell(i, order); err != nil {
			return err
		}
	}
	return nil
}

// expect waits for a backend's answer. A backend that never answers is killed
// when the time of the whole demo is over.
func (m *member) expect(answer string) error {
	if !m.answers.Scan() || m.answers.Text() != answer {
		return fmt.Errorf("backend %s at %s answered %q, not %q", m.name, m.address, m.answers.Text(), answer)
	}
	return nil
}

// kill ends a backend as a power failure does.
func (f *fleet) kill(index int) {
	m := f.members[index]
	if m.process == nil || m.process.Process == nil {
		return
	}
	_ = m.process.Process.Kill() // it may have ended by itself
	_ = m.process.Wait()         // that it was killed is no news
	m.process = nil
}

// stop ends all backends.
func (f *fleet) stop() {
	for i := range f.members {
		f.kill(i)
	}
}
