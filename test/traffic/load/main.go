// Command load sends requests at a constant rate and prints one line for each, as
// package traffic writes them, until its input ends or a signal stops it.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

func main() {
	target := flag.String("target", "", "address and port to ask")
	sources := flag.String("sources", "", "network whose addresses the requests come from, all local")
	rate := flag.Int("rate", 100, "requests a second")
	secure := flag.Bool("tls", false, "ask over TLS, and accept every certificate")
	flag.Parse()
	if err := run(traffic.Options{Rate: *rate, TLS: *secure}, *target, *sources); err != nil {
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
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	last := time.Now()
	err = traffic.Generate(ctx, options, func(r traffic.Result) {
		_, _ = out.WriteString(r.Line()) // Flush returns the error
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			_ = out.Flush()
		}
	})
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	return err
}
