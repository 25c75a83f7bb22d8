package e2e_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// followedBound is how much later than three times what a client needs that only copies a
// change of the remote slices may be in the local slice, at the 95th percentile.
const followedBound = 100 * time.Millisecond

// aChangeIsFollowedAtOnce places a Pod on the third node and takes it away, again and again.
// Beside the daemon a client writes into a ConfigMap of the local cluster that it saw the
// change, and knows no more about it.
func aChangeIsFollowedAtOnce(t *testing.T, r *remote) {
	t.Helper()
	const changes = 20
	written := r.copies(t)
	published := arrivals(t, func() (watch.Interface, error) {
		return r.world.client.DiscoveryV1().EndpointSlices(r.namespace).Watch(t.Context(), metav1.ListOptions{})
	})
	var own, beside []time.Duration
	for i := range changes {
		pause()
		drain(published)
		drain(written)
		begin := time.Now()
		r.place([][]int{{0, 1, 2}, {0, 1}}[i%2]...)
		own = append(own, (<-published).Sub(begin))
		beside = append(beside, (<-written).Sub(begin))
	}
	r.place(0, 1)
	r.wantPublished(r.all()[:2])
	got, other := traffic.Percentile(own, 95), traffic.Percentile(beside, 95)
	t.Logf("a change of the remote slices is in the local one after p50 %v, p95 %v; copied by a client that does nothing else after p50 %v, p95 %v",
		traffic.Percentile(own, 50), got, traffic.Percentile(beside, 50), other)
	if want := 3*other + followedBound; got > want {
		t.Errorf("p95 from a change of the remote slices to the local one: got %v, want %v at most", got, want)
	}
}

// copies starts the client beside, and returns when each of its writes was seen.
func (r *remote) copies(t *testing.T) <-chan time.Time {
	t.Helper()
	maps := r.world.client.CoreV1().ConfigMaps(r.namespace)
	copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "beside"}}
	if _, err := maps.Create(t.Context(), copied, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	written := arrivals(t, func() (watch.Interface, error) { return maps.Watch(t.Context(), metav1.ListOptions{}) })
	seen := arrivals(t, func() (watch.Interface, error) {
		return r.client.DiscoveryV1().EndpointSlices("far").Watch(t.Context(), metav1.ListOptions{})
	})
	go func() {
		for at := range seen {
			copied.Data = map[string]string{"seen": at.String()}
			if _, err := maps.Update(t.Context(), copied, metav1.UpdateOptions{}); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}
	}()
	return written
}

// arrivals returns when each event of a watch came, which lasts as long as the test.
func arrivals(t *testing.T, open func() (watch.Interface, error)) <-chan time.Time {
	t.Helper()
	opened, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Stop)
	times := make(chan time.Time, 100)
	go func() {
		defer close(times)
		for range opened.ResultChan() {
			times <- time.Now()
		}
	}()
	return times
}

// drain takes what came so far.
func drain(times <-chan time.Time) {
	for {
		select {
		case <-times:
		default:
			return
		}
	}
}
