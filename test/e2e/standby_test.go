package e2e_test

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func standbyDoesNothing(t *testing.T, w *world) {
	tm := newTeam(t, w, 1)
	release := tm.hold()
	ran := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(filepath.Dir(ran), "read.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\ncat "+w.inventory+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tm.nodes[0].backends[0].kill()
	listener := listen(t, netip.AddrPortFrom(tm.nodes[0].backends[0].addr, port))
	defer listener.Close()
	var probes atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			probes.Add(1)
			_ = conn.Close()
		}
	}()
	standby := tm.run(0, "SOURCE_KIND=command", "INVENTORY_FILE_PATH=", "INVENTORY_COMMAND="+script)
	if holder := standby.says("standing by")["holder"]; holder != "somebody" {
		t.Errorf("it says that %v leads, want somebody", holder)
	}
	<-time.After(2 * leaseDuration) // the lease is renewed during this time
	if _, err := os.Stat(ran); err == nil || probes.Load() > 0 {
		t.Errorf("got a source that ran (%v) and %d probes, want neither", err == nil, probes.Load())
	}
	tm.wantStandby(standby)
	release()
	standby.says("leading")
	tm.wantPublished(tm.all())
	if probes.Load() == 0 {
		t.Error("got no probe of the leader, so nothing was shown")
	}
}

// hold keeps the lease as another process until the function it returns releases it.
func (tm *team) hold() (release func()) {
	tm.t.Helper()
	leases := tm.client.CoordinationV1().Leases(tm.namespace)
	now := metav1.NowMicro()
	lease, err := leases.Create(tm.t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "ionos-endpointslice-controller"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("somebody"), LeaseDurationSeconds: ptr.To[int32](15), AcquireTime: &now, RenewTime: &now,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		tm.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(tm.t.Context())
	done := make(chan struct{})
	write := func() {
		now := metav1.NowMicro()
		lease.Spec.RenewTime = &now
		if next, err := leases.Update(context.WithoutCancel(ctx), lease, metav1.UpdateOptions{}); err == nil {
			lease = next
		}
	}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			write()
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
		}
	}()
	return func() {
		stop()
		<-done
		lease.Spec.HolderIdentity = ptr.To("")
		write()
	}
}

func onceWaits(t *testing.T, w *world) {
	tm := newTeam(t, w, 1)
	release := tm.hold()
	access := tm.replicas[0].environ(w)
	got := w.command([]string{access}, "run", "--once", "--timeout", "3s")
	if got.code != 124 || !strings.Contains(got.stderr, "somebody holds it") {
		t.Errorf("got exit status %d, want 124 and who holds the lease:\n%s", got.code, got.stderr)
	}
	tm.wantStandby(tm.replicas[0])
	release()
	if got := w.command([]string{access}, "run", "--once"); got.code != 0 {
		t.Errorf("got exit status %d, want 0:\n%s", got.code, got.stderr)
	}
	tm.wantPublished(tm.all())
	lease, err := w.client.CoordinationV1().Leases(w.namespace).Get(t.Context(), "ionos-endpointslice-controller", metav1.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != "" {
		t.Errorf("got %+v and %v, want the lease released", lease, err)
	}
}

func dryRunTakesNoPart(t *testing.T, w *world) {
	tm := newTeam(t, w, 1)
	dry := tm.run(0, "DRY_RUN=true")
	dry.says("a dry run does not take part in the leader election")
	dry.says("dry run, slice not written")
	dry.stop()
	for _, e := range tm.requests() {
		if e.Resource == "leases" || e.Writes() {
			t.Errorf("got a request of a dry run: %+v", e)
		}
	}
}
