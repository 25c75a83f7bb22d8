package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// says checks a command by its exit status and by parts of what it prints, in this
// order.
func (p *platform) says(code int, command string, parts ...string) {
	p.t.Helper()
	r := p.command(nil, strings.Fields(command)...)
	rest := strings.Join(strings.Fields(r.stdout+r.stderr), " ")
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			p.t.Errorf("%s: got no %q after what was said before, in\n%s%s", command, part, r.stdout, r.stderr)
		}
		rest = after
	}
	if r.code != code {
		p.t.Errorf("%s: got status %d, want %d:\n%s%s", command, r.code, code, r.stdout, r.stderr)
	}
}

// Contract 72: a single run fills every Service that it can, and names the others. The
// commands say the same with a daemon and without one.
func TestContract72TheCommandsKnowManyServices(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	p.env["ADMIN_ADDRESS"] = freeAddress()

	// A pool that does not exist is told in the same words.
	if err := os.Remove(filepath.Join(p.folder, "secret.yaml")); err != nil {
		t.Fatal(err)
	}

	p.says(1, "diff -A", "desired/"+p.namespace+"/both.blue", "greedy, pool secret: PoolNotAllowed")
	if got := p.bySlice(); len(got) != 0 {
		t.Errorf("diff wrote %v", got)
	}
	p.says(1, "run --once", `"outcome":"NotGranted"`, `"written":4`, "3 of 4 Services as they should be (NotGranted=1)", "greedy, pool secret: PoolNotAllowed")
	p.want()
	before := p.writes()
	p.nodes[0].backends[0].kill()
	p.says(1, "diff -n "+p.namespace+" web", "current/"+p.namespace+"/web.blue")
	p.says(1, "run --once", `"written":2`)
	p.want("down")
	p.says(1, "run --once", `"written":0`)
	p.says(0, "diff -A")
	p.wantWrites(before, 2)

	ask := func() {
		t.Helper()
		p.says(1, "status -A", "POOL STATE NODES READY DOWN", "blue", " 3 ", "greedy Refused 0/0 secret(refused) PoolNotAllowed")
		p.says(1, "status -n "+p.namespace+" web", "2 of 3 nodes ready in "+p.namespace+"/web", "ProbeRefused")
		p.says(0, "status -n "+p.namespace+" shop", "2 of 2 nodes ready in "+p.namespace+"/shop")
		p.says(1, "status -n "+p.namespace+" greedy", "may not use a pool secret")
		p.says(1, "explain -A "+p.nodes[0].IP, "is known to 2 of 3 Services, and published ready by 0", "both blue", "down ProbeRefused")
		p.says(0, "explain -n "+p.namespace+" shop "+p.green[0].IP, "is published ready")
	}
	t.Log("no daemon runs")
	ask()
	t.Log("a daemon runs")
	d := p.start()
	said := ""
	p.until(func() bool {
		said = p.command(nil, "status", "-n", p.namespace, "web").stdout
		return strings.Contains(said, "2 of 3 nodes ready") && strings.Contains(said, "ProbeRefused") && p.command(nil, "status", "-n", p.namespace, "shop").code == 0
	}, func() string { return said })
	ask()
	if r := p.command(nil, "status", "-A"); strings.Contains(r.stderr, "No answer") {
		t.Errorf("the daemon was not asked: %s", r.stderr)
	}
	p.wantWrites(before, 2)
	if code := d.stop(); code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
}

// Contract 231: check looks at each pool, namespace and Service, of which the one that may
// use no pool is the only mistake; it changes nothing.
func TestContract231CheckKnowsManyServices(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	if err := os.Remove(filepath.Join(p.folder, "secret.yaml")); err != nil {
		t.Fatal(err)
	}
	before := p.writes()
	for _, when := range []string{"before a run", "after it"} {
		got := p.checked()
		fails := got.with("fail")
		if got.code != 1 || len(fails) != 1 || fails[0].ID != "service-valid" || !strings.Contains(fails[0].Subject, p.namespace+"/greedy") || len(got.with("warn")) > 0 {
			t.Errorf("%s: got status %d, failures %+v and warnings %+v, want that greedy may use no pool", when, got.code, fails, got.with("warn"))
		}
		passed := slices.DeleteFunc(got.with("ok"), func(c checkItem) bool { return c.ID != "probes-address" })
		if len(passed) != len(p.nodes)+len(p.green) {
			t.Errorf("%s: got %+v pass, want each endpoint once", when, passed)
		}
		for _, e := range p.writes()[len(before):] {
			if !strings.HasSuffix(e.Resource, "reviews") {
				t.Errorf("check changed something: %+v", e)
			}
		}
		p.command(nil, "run", "--once")
		before = p.writes()
	}
	p.says(0, "check --namespace "+p.namespace+" --service both", "pool blue: source: 3 nodes read", "pool green: source: 2 nodes read",
		"other Services: not looked at", "slice both.blue: belongs to this program, 3 endpoints")
}
