package e2e_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// asked returns the status and body of /livez or /readyz.
func (s *surfaces) asked(path string) (int, string) {
	s.world.t.Helper()
	request, err := http.NewRequestWithContext(s.world.t.Context(), http.MethodGet, "http://"+s.metrics+path+"?verbose", nil)
	if err != nil {
		s.world.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.world.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.world.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// wantHealth checks what Kubernetes reads: the daemon always lives, and is ready or
// not.
func (s *surfaces) wantHealth(when string, ready int) {
	s.world.t.Helper()
	for path, want := range map[string]int{"/livez": http.StatusOK, "/readyz": ready} {
		if code, text := s.asked(path); code != want {
			s.world.t.Errorf("%s: %s: got %d, want %d:\n%s", when, path, code, want, text)
		}
	}
}

// awaitReady waits until it is ready.
func (s *surfaces) awaitReady() {
	s.world.t.Helper()
	s.world.until(func() bool { code, _ := s.asked("/readyz"); return code == http.StatusOK }, func() string { return "it does not become ready" })
}

// onRoad returns the way of the daemon's own user to the API server, and the
// setting that has it go there.
func (w *world) onRoad() (*road, string) {
	w.t.Helper()
	r := &replica{user: w.user, road: newRoad(w.t, w.cp.Address().String())}
	return r.road, r.environ(w)
}

// deadNeighboursFailNoProbe: if another program dies, Kubernetes has no reason to
// restart us or to take us out.
func deadNeighboursFailNoProbe(t *testing.T, w *world) {
	road, access := w.onRoad()
	s := newSurfaces(w.start(access))
	w.wantPublished(w.all())
	s.awaitReady()
	s.wantHealth("all is well", 200)
	if err := os.Remove(w.inventory); err != nil {
		t.Fatal(err)
	}
	w.until(func() bool { return s.status().Source.LastError != "" }, func() string { return "the page does not say that the source fails" })
	s.wantHealth("the source is dead", 200)
	for _, n := range w.nodes {
		n.backends[0].kill()
	}
	w.until(func() bool { return s.status().Mode == "FailOpen" }, func() string { return "it does not fail open" })
	s.wantHealth("the backends are dead", 200)
	road.close(refusing)
	w.nodes[0].backends[0].start(t) // then there is something to write
	w.until(func() bool { return s.status().Store.LastError != "" }, func() string { return "the page does not say that the slices cannot be written" })
	s.wantHealth("the API server is dead", 200)
	if page := s.get(s.admin, "/"); !strings.Contains(page, "The slices cannot be ") || !strings.Contains(page, "The source cannot be read") {
		t.Error("the page has not a banner for each")
	}
}

// startsWithoutTheAPIServer: without the slices there is no first decision, which
// is no reason for a restart.
func startsWithoutTheAPIServer(_ *testing.T, w *world) {
	road, access := w.onRoad()
	road.close(refusing)
	s := newSurfaces(w.start(access))
	s.says("cannot load the slices, trying again")
	s.wantHealth("before the first decision", 503)
	// Contract 230: page and JSON say why.
	if got := s.status(); got.Store.LastError == "" || !strings.Contains(s.get(s.admin, "/"), "The slices cannot be read") {
		w.t.Errorf("before the first decision: got %+v, want why the slices cannot be read", got.Store)
	}
	road.close(open)
	s.awaitReady()
	w.wantPublished(w.all())
	s.wantHealth("after it", 200)
}

// standbyIsReady: else a rolling update of two replicas would wait for ever.
func standbyIsReady(t *testing.T, w *world) {
	tm := newTeam(t, w, 2)
	leader := tm.run(0)
	led := newSurfaces(leader.daemon)
	leader.says("leading")
	tm.wantPublished(tm.all())
	standby := tm.run(1)
	stands := newSurfaces(standby.daemon)
	holder := standby.says("standing by")["holder"]
	led.awaitReady()
	led.wantHealth("the leader", 200)
	stands.wantHealth("the standby", 200)
	if page := stands.get(stands.admin, "/"); holder == "" || !strings.Contains(page, holder.(string)+" leads and says what follows.") {
		t.Errorf("the page of the standby does not say that %v leads", holder)
	}
	standby.road.close(refusing)
	standby.says("cannot read or write the lease, trying again")
	stands.wantHealth("the standby without the API server", 200)
	standby.road.close(open)
	leader.stop()
	standby.says("leading")
	stands.awaitReady()
	if page := stands.get(stands.admin, "/"); strings.Contains(page, "stands by") {
		t.Error("the page of the new leader says that it stands by")
	}
}
