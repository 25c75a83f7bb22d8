package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// metric returns the sum of a metric of the daemon over all its labels; 0 for
// the other sides.
func metric(ctx context.Context, c probing.Case, name string) (float64, error) {
	if !c.IsDaemon() {
		return 0, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8081/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask the daemon for its metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	sum := 0.0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		sample, value, _ := strings.Cut(lines.Text(), " ")
		if family, _, _ := strings.Cut(sample, "{"); family != "ionos_endpointslice_"+name {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum += number
	}
	return sum, nil
}

// overruns is how many intervals ended before everything due in them had been
// checked.
func overruns(ctx context.Context, c probing.Case) (float64, error) {
	return metric(ctx, c, "health_check_round_overruns_total")
}

// awaitSlices waits until the daemon has written its slices. That is not measured.
// The store in memory prints the slices, which takes a while.
func awaitSlices(ctx context.Context, c probing.Case) error {
	if !c.IsDaemon() {
		return nil
	}
	return awaitRest(ctx, c, "writes_total", waitLimit(c))
}

// awaitHeld waits until all connections are held that may be.
func awaitHeld(ctx context.Context, c probing.Case) error {
	const opening = 40 * time.Second
	if c.Side != probing.Holding {
		return nil
	}
	return awaitRest(ctx, c, "connections_held", opening)
}

// awaitRest waits until a metric has changed and changes no longer.
func awaitRest(ctx context.Context, c probing.Case, name string, longest time.Duration) error {
	const calm = 2 * time.Second
	written, since := 0.0, time.Now()
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); {
		if err := pause(ctx, calm/8); err != nil {
			return err
		}
		now, err := metric(ctx, c, name)
		switch {
		case err != nil:
			return err
		case now != written:
			written, since = now, time.Now()
		case written > 0 && time.Since(since) > calm:
			return nil
		}
	}
	return nil
}
