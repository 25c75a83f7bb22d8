//go:build lab

package lab

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// FailedRequest is a request that failed in Envoy, as a line of its access log says.
type FailedRequest struct {
	Method string `json:"method"`
	// Client is the address and port that the request came from.
	Client string `json:"client"`
	// Endpoint is the address and port of the worker that it went to.
	Endpoint string `json:"endpoint"`
	Flags    string `json:"flags"`
	Details  string `json:"details"`
	Cluster  string `json:"cluster"`
}

// Failed are the requests to a target that the access log of the Envoy has, by clients. It
// waits until all requests have ended and the log is written; call it after [Target.End].
func (f *Fleet) Failed(x *Target) map[string]FailedRequest {
	x.t.Helper()
	active := fmt.Sprintf("http.port-%d.downstream_rq_active", netip.MustParseAddrPort(x.service).Port())
	for _, gauge := range []string{active, "filesystem.write_total_buffered"} {
		x.Await("the access log is written: "+gauge, func() bool { return f.Envoy.Stat(gauge) == 0 })
	}
	failed := map[string]FailedRequest{}
	for _, line := range f.Envoy.AccessLog() {
		var one FailedRequest
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			x.t.Fatalf("access log: %v in %s", err, line)
		}
		if one.Cluster == clusterOf(x) {
			failed[one.Client] = one
		}
	}
	return failed
}
