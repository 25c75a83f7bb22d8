// Command rig measures one case of package probing. It also plays every part of the
// case:
//
//	rig case JSON      measures; prints the line of a benchmark
//	rig respond JSON   answers for all backends, and reports which backend was asked when
//	rig probe JSON     checks with internal/endpoints/health
//	rig plain JSON     checks with net/http or net.Dial
//	rig hold JSON      holds connections with health.Connections
//	rig poll JSON      asks blackbox_exporter for each probe
//
// JSON is a probing.Case. The command runs in a network namespace that package
// probing makes. Without arguments it measures all cases of the report.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

func main() {
	only := flag.String("only", "", "measure the cases whose names match this regular expression")
	rounds := flag.Int("rounds", 0, "intervals to measure of each case; as in the report if 0")
	profile := flag.String("profile", "", "write a profile of the CPU of cases of the side prober to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if flag.NArg() == 2 {
		err = play(ctx, flag.Arg(0), flag.Arg(1))
	} else {
		err = measure(ctx, *only, *rounds, *profile)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure measures the cases of the report.
func measure(ctx context.Context, only string, rounds int, profile string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var cases []probing.Case
	for _, c := range probing.Default() {
		if wanted.MatchString(c.Name()) {
			c.Profile = profile
			if rounds > 0 {
				c.Rounds = rounds
			}
			cases = append(cases, c)
		}
	}
	lines, err := probing.Measure(ctx, cases, os.Stderr)
	fmt.Print(lines)
	return err
}

// play takes a part in a case.
func play(ctx context.Context, part, about string) error {
	var c probing.Case
	if err := json.Unmarshal([]byte(about), &c); err != nil {
		return fmt.Errorf("read the case: %w", err)
	}
	switch part {
	case "case":
		line, err := run(ctx, c)
		fmt.Print(line)
		return err
	case "respond":
		return respond(ctx, c, os.Stdin, os.Stdout)
	case "probe":
		return probeAll(ctx, c)
	case "hold":
		return holdAll(ctx, c)
	case "plain":
		return plain(ctx, c)
	case "poll":
		return poll(ctx, c)
	}
	return fmt.Errorf("there is no part %q", part)
}
