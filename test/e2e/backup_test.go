package e2e_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestTheAPIServerIsRestoredFromABackup: after it, slices are older than the
// daemon remembers, and so are their versions.
func TestTheAPIServerIsRestoredFromABackup(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	w := newWorld(t, cp, "client-go")
	w.start()
	w.wantPublished(w.all())
	cp.Backup()
	for range 3 { // the versions are well ahead then
		w.nodes[0].backends[0].kill()
		w.wantPublished(w.all("down"))
		w.nodes[0].backends[0].start(t)
		w.wantPublished(w.all())
	}
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	cp.Restore()
	w.wantPublished(w.all("down")) // nothing changes but the slices
	w.nodes[1].backends[0].kill()
	w.wantPublished(w.all("down", "down"))
	w.nodes[0].backends[0].start(t)
	w.wantPublished(w.all("ready", "down"))
}
