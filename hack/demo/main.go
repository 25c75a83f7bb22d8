// Command demo shows in a minute what the daemon is for, on one machine and
// without any cluster. It starts a few HTTP servers as nodes and the real daemon with
// a JSON inventory, does to the nodes what happens to real ones, and prints what the
// daemon does.
//
// In come the built daemon and what it prints: log lines and slices. Out goes a
// story in eight scenes, each with the daemon's own reasons, and the exit status
// 1 if one of them does not end as expected. It never looks into the daemon and never
// says what the daemon did not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// The exit statuses.
const (
	exitOK = iota
	exitFailed
	exitUsage
	exitInterrupted = 130
)

// mostTime bounds everything: a demo that hangs ends too.
const mostTime = 5 * time.Minute

func main() {
	os.Exit(run())
}

// run plays the demo, or is one of its nodes.
func run() int {
	daemon := flag.String("daemon", filepath.Join("bin", "ionos-endpointslice-controller"), "path of the daemon")
	colour := flag.Bool("color", false, "use colours")
	backend := flag.String("backend", "", "be the node at this address and port; for the demo itself")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unknown argument %q\n", flag.Arg(0))
		return exitUsage
	}
	// `demo | head` ends with SIGPIPE and must clean up too.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	if *backend != "" {
		return report(serve(*backend, os.Stdin, os.Stdout))
	}
	bounded, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	err := play(bounded, *daemon, printer{out: os.Stdout, colour: *colour})
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "\nInterrupted; everything is stopped and removed.")
		return exitInterrupted
	}
	return report(err)
}

// report says what went wrong and returns the exit status.
func report(err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(os.Stderr, "\nFAILED: %v\n", err)
	return exitFailed
}

// play sets the stage, plays the scenes and clears everything away.
func play(ctx context.Context, program string, out printer) (err error) {
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "endpointslice-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	backends, err := newFleet(ctx)
	if err != nil {
		return err
	}
	defer backends.stop()
	for i := range backends.members {
		if err := backends.start(ctx, i); err != nil {
			return err
		}
	}
	s := &show{out: out, fleet: backends, inventory: inventory{filepath.Join(dir, "inventory.json")}, world: newWorld()}
	settings := settingsFor(s.inventory.path, backends.port)
	s.introduce(settings)
	// The inventory exists before the daemon starts, as in real clusters.
	if err := s.inventory.write(s.nodes(firstNodes)); err != nil {
		return err
	}
	s.begin()
	if s.daemon, err = startDaemon(ctx, program, settings, filepath.Join(dir, "slices.yaml")); err != nil {
		return err
	}
	defer s.daemon.stop()
	return s.play(ctx)
}
