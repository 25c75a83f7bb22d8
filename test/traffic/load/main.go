// Command load sends requests at a constant rate and prints one line for each, as
// package traffic writes them, until its input ends or a signal stops it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

func main() {
	target := flag.String("target", "", "address and port to ask")
	sources := flag.String("sources", "", "network whose addresses the requests come from, all local")
	rate := flag.Int("rate", 100, "requests a second")
	secure := flag.Bool("tls", false, "ask over TLS, and accept every certificate")
	methods := flag.String("methods", "GET", "methods of the requests in turn, separated by commas")
	body := flag.Int("body", 0, "bytes of each PUT and POST")
	burst := flag.Int("burst", 1, "requests that begin at the same time")
	keep := flag.Int("keep", 0, "connections that carry one request after the other; 0 opens one for each request")
	timeout := flag.Duration("timeout", traffic.Timeout, "bound of each request")
	flag.Parse()
	options := traffic.Options{
		Rate: *rate, TLS: *secure, Methods: strings.Split(*methods, ","), Body: *body, Burst: *burst, Keep: *keep, Timeout: *timeout,
	}
	if err := run(options, *target, *sources); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(options traffic.Options, target, sources string) (err error) {
	if options.Target, err = netip.ParseAddrPort(target); err != nil {
		return fmt.Errorf("-target: %w", err)
	}
	if options.Sources, err = netip.ParsePrefix(sources); err != nil {
		return fmt.Errorf("-sources: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // only its end matters
		stop()
	}()
	out := &lines{out: bufio.NewWriterSize(os.Stdout, 64<<10)}
	return errors.Join(traffic.Generate(ctx, options, out.add), out.flush())
}

// lines are printed together, each after 100 ms at most.
type lines struct {
	mu      sync.Mutex
	out     *bufio.Writer
	waiting bool
}

func (l *lines) add(r traffic.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.WriteString(r.Line()) // the last flush returns the error
	if !l.waiting {
		l.waiting = true
		time.AfterFunc(100*time.Millisecond, func() { _ = l.flush() })
	}
}

func (l *lines) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = false
	return l.out.Flush()
}
