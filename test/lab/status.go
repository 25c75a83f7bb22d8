//go:build lab

package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status is what the status page says of the verdict.
type Status struct {
	Mode, Reason, Message string
}

// Status asks the daemon.
func (d *Daemon) Status() Status {
	d.t.Helper()
	s, err := d.status()
	if err != nil {
		d.t.Fatalf("%s: status: %v\n%s", d.name, err, d.Log())
	}
	return s
}

func (d *Daemon) status() (Status, error) {
	var s Status
	code, body, err := d.Get("ADMIN_ADDRESS", "/api/v1/services/"+d.Env["TARGET_NAMESPACE"]+"/"+d.Env["TARGET_SERVICE_NAME"])
	if err != nil {
		return s, err
	}
	if code != http.StatusOK {
		return s, fmt.Errorf("status %d: %s", code, body)
	}
	return s, json.Unmarshal([]byte(body), &s)
}

// AwaitMetric waits until the sum of a metric's values is at least that.
func (d *Daemon) AwaitMetric(name string, least float64) {
	d.t.Helper()
	got := 0.0
	until(d.t, func() string { return fmt.Sprintf("%s: %s is %v, want %v\n%s", d.name, name, got, least, d.Log()) }, func() bool {
		got = d.Metric(name)
		return got >= least
	})
}

// AwaitEvent waits until the Service has an Event with that reason.
func (x *Target) AwaitEvent(reason string) {
	x.t.Helper()
	var got []string
	until(x.t, func() string { return fmt.Sprintf("%s: got the Events %v, want %s", x.Name, got, reason) }, func() bool {
		got = x.events()
		return slices.Contains(got, reason)
	})
}

// events are the reasons of the Events in the namespace.
func (x *Target) events() []string {
	list, err := x.world.local.EventsV1().Events(x.namespace).List(x.t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil // the API server may be the fault
	}
	var reasons []string
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}
