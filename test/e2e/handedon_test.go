package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// standbyAnswers asks the standby what "kubectl exec deploy/... --" asks, which may
// reach either Pod. The standby answers what only the leader knows, and says so when
// no leader answers.
func standbyAnswers(t *testing.T, w *world) {
	tm := newTeam(t, w, 2)
	// As in a Pod, where it listens on every address.
	led := newSurfaces(tm.run(0, "METRICS_ADDRESS=0.0.0.0:0", "NODE_NAME=node-a").daemon)
	led.says("leading")
	tm.wantPublished(tm.all())
	replica := tm.run(1, "NODE_NAME=node-b")
	stands := newSurfaces(replica.daemon)
	holder, _ := stands.says("standing by")["holder"].(string)
	at := []string{replica.environ(w), "ADMIN_ADDRESS=" + stands.admin}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	from := name + " stands by and hands on the status of the leader, " + holder + "."
	want := func(got result, code int, says ...string) {
		t.Helper()
		if got.code != code || strings.Contains(got.stderr, "evaluating locally") {
			t.Errorf("got exit status %d, want %d, of the leader:\n%s%s", got.code, code, got.stdout, got.stderr)
		}
		for _, s := range says {
			if !strings.Contains(got.stdout+got.stderr, s) {
				t.Errorf("got no %q in\n%s%s", s, got.stdout, got.stderr)
			}
		}
	}
	want(w.command(at, "status", "--wait"), 0, "3 of 3 nodes ready in "+w.namespace+"/web\n", from)
	for _, command := range []struct {
		name, says string
		environ    []string
	}{
		{"status", "2: the leader (node-a), " + name + " (node-b)\n", at},
		{"check", "2: " + holder + " leads (node-a), " + name + " stands by (node-b)\n", []string{tm.replicas[0].environ(w)}},
	} {
		var got result
		w.until(func() bool {
			got = w.command(command.environ, command.name)
			return strings.Contains(got.stdout, command.says)
		}, func() string { return fmt.Sprintf("%s says nothing of %q: %+v", command.name, command.says, got) })
	}

	dead := w.nodes[1]
	dead.backends[0].kill()
	led.await(dead.Name, "ProbeRefused")
	// What it says of the node counts its checks, and goes on between two questions.
	var diff string
	w.until(func() bool {
		diff = cmp.Diff(led.status().find(dead.Name), stands.status().find(dead.Name))
		return diff == ""
	}, func() string { return "the document (-leader +standby):\n" + diff })
	want(w.command(at, "status", "-o", "wide"), 1, "2 of 3 nodes ready", from, dead.Name, "Refused x")
	want(w.command(at, "status", "--wait", "--timeout", "2s"), 124, "Waiting: 2 of 3 nodes ready", from)
	want(w.command(at, "explain", dead.Name), 1, dead.Name+" is not published ready.", from, "times in a row, the last", "ProbeRefused")
	for _, says := range []string{"2 of 3 nodes ready", "ProbeRefused", holder + " leads and says what follows.", name + " answers here."} {
		if page := stands.get(stands.admin, "/"); !strings.Contains(page, says) {
			t.Errorf("the page of the standby says nothing of %q:\n%s", says, page)
		}
	}
	for path, says := range map[string]string{
		"/api/v1/services":                         `"readyEndpoints":2,"endpoints":3`,
		"/api/v1/services/" + w.namespace + "/web": `"reason":"ProbeRefused"`,
		"/api/v1/explain?subject=" + dead.Name:     `"reason":"ProbeRefused"`,
	} {
		if got := stands.get(stands.admin, path); !strings.Contains(got, says) || !strings.Contains(got, `"handedOnBy":"`+name+`"`) {
			t.Errorf("%s of the standby: got no %s in %s", path, says, got)
		}
	}
	tm.wantPublished(tm.all("ready", "down"))
	tm.wantStandby(replica)
	want(w.command(at, "diff"), 0)

	led.kill()
	gone := "but its status cannot be read"
	want(w.command(at, "status"), 1, holder+" leads, "+gone, "nothing listens there")
	if page := stands.get(stands.admin, "/"); !strings.Contains(page, gone) || strings.Contains(page, "ProbeRefused") {
		t.Errorf("the page of the standby does not say that the leader is gone:\n%s", page)
	}
	stands.wantHealth("the standby without a leader", 200)
	dead.backends[0].start(t)
	got := w.command(at, "status", "--wait")
	want(got, 0, "Waiting: standing by", gone, "3 of 3 nodes ready")
	if strings.Contains(got.stdout, holder) {
		t.Errorf("all is well before another leads:\n%s%s", got.stdout, got.stderr)
	}
}
