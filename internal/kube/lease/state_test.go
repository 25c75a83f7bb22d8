package lease_test

import (
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestNewSaysWhatIsMissing(t *testing.T) {
	right := lease.Options{Way: kube.Fixed(&rest.Config{Host: "http://api"}), Namespace: "infra", Name: "lease", Identity: "one"}
	if _, err := lease.New(right); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	for name, spoil := range map[string]func(*lease.Options){
		"way": func(o *lease.Options) { o.Way = nil }, "namespace": func(o *lease.Options) { o.Namespace = "" },
		"name": func(o *lease.Options) { o.Name = "" }, "identity": func(o *lease.Options) { o.Identity = "" },
	} {
		options := right
		spoil(&options)
		if _, err := lease.New(options); err == nil {
			t.Errorf("without %s: got no error, want one", name)
		}
	}
}

// Contract 31: a standby is alive for as long as it waits, with an API server or
// without.
func TestContract31AStandbyIsAlive(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		standby.client.set(func(verb string) outcome {
			if time.Now().Minute()%2 == 0 {
				return hanging
			}
			return served
		})
		for range 600 {
			time.Sleep(time.Second)
			if !standby.elector.Alive() || !leader.elector.Alive() {
				t.Fatal("got a dead process, want that waiting is no death")
			}
			if time.Now().Second() == 0 {
				a.cut()
			}
		}
	})
}

func TestStateSaysWhoLeadsAndSinceWhen(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		if got := standby.elector.State(); got.Leading || got.Holder != "one" || !got.Enabled {
			t.Errorf("got %+v, want that one leads", got)
		}
		time.Sleep(time.Minute)
		since := leader.elector.State().Since
		if age := time.Since(since); age < time.Minute {
			t.Errorf("got leading for %s, want more than a minute", age)
		}
		leader.stop()
		within(t, linger+soon, "lead", standby.leading)
		if got := standby.elector.State(); !got.Leading || got.Holder != "two" || time.Since(got.Since) > soon {
			t.Errorf("got %+v, want that it leads since now", got)
		}
	})
}
