//go:build lab

package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// resultsVariable names a folder for the figures of a run.
const resultsVariable = "LAB_RESULTS"

// Report writes the figures of the load, if LAB_RESULTS asks for them. Call it
// after [Target.End]. The scenario's name is "group/name"; the text says in a
// sentence what happens in it.
func (x *Target) Report(scenario, text string, facts ...traffic.Fact) {
	x.t.Helper()
	x.ReportSeries(scenario, text, nil, facts...)
}

// ReportSeries is [Target.Report] with the samples of that time.
func (x *Target) ReportSeries(scenario, text string, series []traffic.Series, facts ...traffic.Fact) {
	x.t.Helper()
	writes, requests := x.APIRequests()
	own := []traffic.Fact{{Name: "slice writes", Value: fmt.Sprint(writes)}, {Name: "API requests", Value: fmt.Sprint(requests)}}
	if excused := len(x.excused()); excused > 0 {
		own = append(own, traffic.Fact{Name: "time-outs while the machine had no time for the load", Value: fmt.Sprint(excused)})
	}
	if count, slowest := x.Record().Delayed(); count > 0 {
		own = append(own, traffic.Fact{Name: fmt.Sprintf("answered after more than %v", traffic.Timeout), Value: fmt.Sprintf("%d, the last after %v", count, slowest.Round(time.Millisecond))})
	}
	figures := x.Record().Figures(scenario, text, append(own, facts...)...)
	figures.Series = series
	progress("%s: %d requests, %d lost, %d slice writes, %d API requests", scenario, figures.Requests, figures.Lost, writes, requests)
	dir := os.Getenv(resultsVariable)
	if dir == "" {
		return
	}
	data, err := json.Marshal(figures)
	if err != nil {
		x.t.Fatal(err)
	}
	name := strings.NewReplacer("/", "-", " ", "-").Replace(scenario) + ".json"
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		x.t.Fatal(err)
	}
}

// APIRequests is what the daemons of the target have asked the local API server
// for so far, Events apart: writes of slices, and all requests.
func (x *Target) APIRequests() (writes, requests int) {
	x.t.Helper()
	for _, e := range x.world.Local.Audit() {
		if e.User != x.User || e.Resource == "events" {
			continue
		}
		requests++
		if e.Writes() && e.Resource == "endpointslices" {
			writes++
		}
	}
	return writes, requests
}
