//go:build lab

package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// Replicas makes a target with two daemons of one Lease, each on a machine with a network and a
// hostname of its own. The first leads, the second stands by.
func (w *World) Replicas(t testing.TB, options Options) (x *Target, leader, standby *Daemon) {
	t.Helper()
	options.Env = maps.Clone(options.Env)
	if options.Env == nil {
		options.Env = map[string]string{}
	}
	options.Env["LEADER_ELECTION"] = "true"
	x = w.unstarted(t, options)
	n := numbers.Add(1)
	x.Daemon.on(fmt.Sprintf("first-%d", n))
	standby = newDaemon(t, x.Name+"-standby", w.prober(t, n), 0, x.env)
	standby.on(fmt.Sprintf("second-%d", n))
	x.launch(options)
	standby.Start()
	standby.AwaitLogged("standing by")
	return x, x.Daemon, standby
}

// on runs the daemon on a machine with that hostname from the next start on.
func (d *Daemon) on(hostname string) {
	d.Program = "unshare"
	d.args = []string{"--uts", "--", "sh", "-c", `hostname "$0" && exec "$1"`, hostname, built.Program(d.t)}
}

// Lose drops all packets between the machine of the daemon and these workers; no other packet
// of theirs is lost.
func (d *Daemon) Lose(workers ...*Worker) {
	d.t.Helper()
	var addresses []string
	for _, w := range workers {
		addresses = append(addresses, w.Address.String())
	}
	nft(d.t, d.namespace, fmt.Sprintf(`table inet silence {}
delete table inet silence
table inet silence {
chain in { type filter hook prerouting priority -400; ip saddr { %[1]s } drop; }
chain out { type filter hook postrouting priority 400; ip daddr { %[1]s } drop; }
}
`, strings.Join(addresses, ", ")))
}

// AwaitSuccess waits until it has ended by itself, and fails the test if it did not end well.
func (d *Daemon) AwaitSuccess() {
	d.t.Helper()
	d.AwaitEnd()
	if !d.process.State().Success() {
		d.t.Errorf("%s: %v\n%s", d.name, d.process.State(), d.Log())
	}
}

// AwaitReason waits until the status page says the reason of exactly these workers.
func (d *Daemon) AwaitReason(reason string, workers ...*Worker) {
	d.t.Helper()
	var want, got []string
	for _, w := range workers {
		want = append(want, w.Address.String())
	}
	slices.Sort(want)
	until(d.t, func() string { return fmt.Sprintf("%s: %s of %v, want %v\n%s", d.name, reason, got, want, d.Log()) }, func() bool {
		got = d.because(reason)
		return slices.Equal(got, want)
	})
}

// because are the addresses that the status page has with that reason.
func (d *Daemon) because(reason string) (addresses []string) {
	code, body, err := d.Get("ADMIN_ADDRESS", "/api/v1/services/"+d.Env["TARGET_NAMESPACE"]+"/"+d.Env["TARGET_SERVICE_NAME"])
	var page struct {
		Nodes []struct{ Address, Reason string }
	}
	if err != nil || code != http.StatusOK || json.Unmarshal([]byte(body), &page) != nil {
		return nil
	}
	for _, n := range page.Nodes {
		if n.Reason == reason {
			addresses = append(addresses, n.Address)
		}
	}
	slices.Sort(addresses)
	return addresses
}
