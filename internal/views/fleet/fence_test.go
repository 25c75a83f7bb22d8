package fleet_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

const (
	leasePath      = "/apis/coordination.k8s.io/v1/namespaces/infra/leases/endpoint-views-fleet"
	deploymentPath = "/apis/apps/v1/namespaces/shop/deployments/edge"
)

// answers is an API server that answers each request so, after a time.
type answers struct {
	status int
	err    error
	after  time.Duration
	count  int
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(a.after)
	a.count++
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Body: http.NoBody}, nil
}

// send sends a request and reports whether it reached the server.
func send(t *testing.T, way http.RoundTripper, to *answers, method, path string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://10.0.0.1"+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	before := to.count
	response, err := way.RoundTrip(request)
	if response != nil {
		_ = response.Body.Close()
	}
	sent := to.count > before
	if errors.Is(err, fleet.ErrNotLeader) == sent {
		t.Errorf("%s %s: got sent %t and %v", method, path, sent, err)
	}
	return sent
}

// TestContract128AnAPIServerBelowAPathIsWrittenTo: the server of a kubeconfig may have one.
func TestContract128AnAPIServerBelowAPathIsWrittenTo(t *testing.T) {
	to := &answers{status: http.StatusOK}
	way := fleet.Fence(to)[0]
	for _, path := range []string{leasePath, deploymentPath} {
		if !send(t, way, to, http.MethodPut, "/k8s/clusters/one"+path) {
			t.Errorf("%s was not sent", path)
		}
	}
}

func TestContract128NothingIsWrittenOnceTheLeaseIsNotRenewed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		elector, cluster := &answers{status: http.StatusOK}, &answers{status: http.StatusOK}
		ways := fleet.Fence(elector, cluster)
		renew := func() { send(t, ways[0], elector, http.MethodPut, leasePath) }
		want := func(when string, may bool) {
			t.Helper()
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				if did := send(t, ways[1], cluster, method, deploymentPath); did != may {
					t.Errorf("%s: %s: got %t, want %t", when, method, did, may)
				}
			}
			if !send(t, ways[1], cluster, http.MethodGet, deploymentPath) || !send(t, ways[0], elector, http.MethodGet, leasePath) {
				t.Errorf("%s: reading is refused", when)
			}
		}
		want("standing by", false)
		renew()
		want("leading", true)
		for range 10 {
			time.Sleep(fleet.RenewDeadline - time.Second)
			renew()
		}
		want("still leading", true)
		elector.status = http.StatusConflict
		renew()
		time.Sleep(fleet.RenewDeadline - time.Millisecond)
		renew()
		want("in doubt", true)
		time.Sleep(time.Millisecond)
		renew()
		want("another one changed the Lease", false)
		elector.status, elector.err = 0, errors.New("no route to host")
		renew()
		want("the API server is away", false)
		elector.status, elector.err = http.StatusOK, nil
		renew()
		want("leading again", true)
		// A renewal counts from its beginning: another operator does not know when it ended.
		time.Sleep(fleet.RenewDeadline)
		elector.after = fleet.RenewDeadline
		renew()
		want("hung while it renewed", false)
	})
}
