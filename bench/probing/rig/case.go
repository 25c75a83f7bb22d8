package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// waitLimit bounds how long a side may need until it has checked every backend once. A
// side that cannot keep up is measured too. The holder takes 10 s for its connects.
func waitLimit(c probing.Case) time.Duration {
	if c.Side == probing.Holder {
		return 40 * time.Second
	}
	return 15 * time.Second
}

// settled is how long a side continues after that before it is measured. It must
// learn which backends are slow; the daemon had its time while it wrote.
func settled(c probing.Case) time.Duration {
	switch {
	case c.Slow != probing.Nothing:
		return 3 * probing.Interval
	case c.IsDaemon():
		return 0
	}
	return probing.Interval
}

// measurement is what a side did in the time that was measured, and has.
type measurement struct {
	cpu            time.Duration
	resident, peak float64
	arrivals       []probing.Arrival
	connections    int
	timeWait       timeWait
	// overruns is how many intervals the daemon says that it overran.
	overruns float64
	// descriptors are those that it has open, sockets what the kernel has for them.
	descriptors, sockets float64
	// keepAlives were sent meanwhile; keepAliveCost is what one costs the kernel, in
	// nanoseconds. Only the holder has them, and the cost only where the kernel sends none.
	keepAlives, keepAliveCost float64
}

// run measures a case.
func run(ctx context.Context, c probing.Case) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "probing")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	backends, err := startResponder(ctx, c)
	if err != nil {
		return "", err
	}
	defer backends.stop()
	processes, err := side(ctx, c, dir)
	for _, p := range processes {
		defer p.stop()
	}
	if err != nil {
		return "", err
	}
	if err := backends.awaitAll(ctx, c); err != nil {
		return "", err
	}
	if err := awaitSlices(ctx, c); err != nil {
		return "", err
	}
	if err := awaitHeld(ctx, c); err != nil {
		return "", err
	}
	if err := pause(ctx, settled(c)); err != nil {
		return "", err
	}
	cost := 0.0
	if c.Side == probing.Holder && c.KeepAlive == 0 {
		if cost, err = readCost(dir); err != nil {
			return "", err
		}
	}
	s, err := watch(ctx, c, processes[0], backends)
	if err != nil {
		return "", err
	}
	s.keepAliveCost = cost
	return line(c, s), nil
}

// watch looks at a side for the rounds of the case.
func watch(ctx context.Context, c probing.Case, p *process, backends *counterpart) (measurement, error) {
	overran, err := overruns(ctx, c)
	if err != nil {
		return measurement{}, err
	}
	sent, err := readKeepAlives()
	if err != nil {
		return measurement{}, err
	}
	before, err := p.cpu()
	if err != nil {
		return measurement{}, err
	}
	if err := backends.order("begin"); err != nil {
		return measurement{}, err
	}
	if err := pause(ctx, time.Duration(c.Rounds)*probing.Interval); err != nil {
		return measurement{}, err
	}
	after, err := p.cpu()
	if err != nil {
		return measurement{}, err
	}
	s := measurement{cpu: after - before}
	var errs [7]error
	s.keepAlives, errs[6] = readKeepAlives()
	s.keepAlives -= sent
	s.arrivals, errs[0] = backends.arrivals()
	s.connections, _, errs[1] = backends.seen()
	s.resident, s.peak, errs[2] = p.memory()
	s.timeWait, errs[3] = readTimeWait()
	s.overruns, errs[4] = overruns(ctx, c)
	s.overruns -= overran
	s.descriptors, s.sockets, errs[5] = p.descriptors()
	if len(s.arrivals) == 0 && c.Side != probing.Holder {
		return measurement{}, fmt.Errorf("no check reached a backend; %s says:\n%.2000s", p.cmd.Path, p.stderr)
	}
	return s, errors.Join(errs[:]...)
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// counterpart is the responder, in a process of its own.
type counterpart struct {
	process *process
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startResponder(ctx context.Context, c probing.Case) (*counterpart, error) {
	p, err := part(ctx, "respond", c)
	if err != nil {
		return nil, err
	}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r := &counterpart{process: p, in: in, out: bufio.NewScanner(out)}
	if err := p.start(); err != nil {
		return nil, err
	}
	// Its first answer says that it listens.
	if _, _, err := r.seen(); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// stop ends the responder, which goes when its input ends.
func (r *counterpart) stop() {
	_ = r.in.Close()
	r.process.stop()
}

func (r *counterpart) order(what string) error {
	_, err := fmt.Fprintln(r.in, what)
	return err
}

// next returns the next line of the responder.
func (r *counterpart) next() (string, error) {
	if !r.out.Scan() {
		return "", fmt.Errorf("the responder ended: %s", strings.TrimSpace(r.process.stderr.String()))
	}
	return r.out.Text(), nil
}

// seen returns how many connections there were, and backends that had one.
func (r *counterpart) seen() (connections, backends int, err error) {
	if err := r.order("seen"); err != nil {
		return 0, 0, err
	}
	text, err := r.next()
	if err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscan(text, &connections, &backends)
	return connections, backends, err
}

// awaitAll waits until every backend that answers was asked.
func (r *counterpart) awaitAll(ctx context.Context, c probing.Case) error {
	answering := 0
	for i := range c.Backends {
		if c.Answers(i) {
			answering++
		}
	}
	for deadline := time.Now().Add(waitLimit(c)); time.Now().Before(deadline); {
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		_, asked, err := r.seen()
		if err != nil || asked == answering {
			return err
		}
	}
	return nil
}

// arrivals returns what came since the order to begin.
func (r *counterpart) arrivals() ([]probing.Arrival, error) {
	if err := r.order("end"); err != nil {
		return nil, err
	}
	var arrivals []probing.Arrival
	for {
		text, err := r.next()
		if text == "" || err != nil {
			return arrivals, err
		}
		var a probing.Arrival
		if _, err := fmt.Sscan(text, &a.Backend, &a.At); err != nil {
			return nil, err
		}
		arrivals = append(arrivals, a)
	}
}
