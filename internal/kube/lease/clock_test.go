package lease_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract32TheTimeOfASuspensionCounts(t *testing.T) {
	if got := lease.Elapsed(time.Hour); got < time.Hour {
		t.Errorf("got %v, want an hour at least", got)
	}
}

// TestContract29AnErrorOfTheServerMayHaveWritten: only what it refused for a reason of its
// own was not written.
func TestContract29AnErrorOfTheServerMayHaveWritten(t *testing.T) {
	held := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"500":       {apierrors.NewInternalError(errors.New("etcd has not answered")), false},
		"503":       {apierrors.NewServiceUnavailable("busy"), false},
		"504":       {apierrors.NewGenericServerResponse(http.StatusGatewayTimeout, "put", held, "a", "", 0, false), false},
		"no answer": {errors.New("EOF"), false},
		"403":       {apierrors.NewForbidden(held, "a", errors.New("no")), true},
		"422":       {apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "put", held, "a", "", 0, false), true},
	} {
		if got := lease.Answered(test.err); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// TestContract29AStandbyWaitsNotBeyondTheEndOfTheLease: a takeover after errors is as fast
// as one without.
func TestContract29AStandbyWaitsNotBeyondTheEndOfTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		lease.Pause(t.Context(), 10, 300*time.Millisecond)
		if waited := time.Since(began); waited > 300*time.Millisecond {
			t.Errorf("waited %v, want 300ms at most", waited)
		}
		began = time.Now()
		lease.Pause(t.Context(), 10, time.Hour)
		if waited := time.Since(began); waited != lease.RetryPeriod {
			t.Errorf("waited %v, want %v", waited, lease.RetryPeriod)
		}
	})
}
