package main

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// overruns asks the daemon how many intervals were over before all that was due
// had been checked; 0 for the other sides.
func overruns(ctx context.Context, c probing.Case) (float64, error) {
	if c.Side != probing.Daemon {
		return 0, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8081/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "ionos_endpointslice_probe_round_overruns_total "); found {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, errors.New("the daemon's metrics say nothing of overruns")
}
