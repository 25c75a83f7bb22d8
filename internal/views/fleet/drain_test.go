package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
)

// envoy stands for the admin page of an Envoy.
type envoy struct {
	mu    sync.Mutex
	calls []string
	// values are statistics by name; gone lets them go after so many questions.
	values map[string]int
	asked  int
	then   func(asked int, values map[string]int)
	// busy is how many requests of a path get no answer.
	busy map[string]int
}

func (e *envoy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy[r.URL.Path] > 0 {
		e.busy[r.URL.Path]--
		e.mu.Unlock()
		<-r.Context().Done()
		e.mu.Lock()
		return
	}
	if r.URL.Path != "/stats" {
		e.calls = append(e.calls, r.Method+" "+r.URL.RequestURI())
		return
	}
	e.asked++
	if e.then != nil {
		e.then(e.asked, e.values)
	}
	var stats []string
	for name, value := range e.values {
		stats = append(stats, fmt.Sprintf(`{"name":%q,"value":%d}`, name, value))
	}
	fmt.Fprintf(w, `{"stats":[%s]}`, strings.Join(stats, ","))
}

func (e *envoy) start(t *testing.T) fleet.DrainOptions {
	t.Helper()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return fleet.DrainOptions{Admin: netip.MustParseAddrPort(server.Listener.Addr().String()), Timeout: time.Minute, Quiet: time.Hour}
}

// own are the connections that the drain itself and the kubelet have.
func own(more map[string]int) map[string]int {
	all := map[string]int{
		"http.admin.downstream_cx_active": 1, "http.admin.downstream_rq_active": 1, "listener.admin.downstream_cx_active": 1,
		"listener.admin.main_thread.downstream_cx_active": 1,
		"http.health.downstream_cx_active":                1, "listener.health.downstream_cx_active": 1, "http.health.downstream_rq_active": 1,
	}
	for name, value := range more {
		all[name] = value
	}
	return all
}

func TestContract90AnEnvoyEndsWhenNothingIsActiveInIt(t *testing.T) {
	t.Parallel()
	const listener, requests, connections = "listener.0.0.0.0_8080.downstream_cx_active", "http.port-8080.downstream_rq_active", "http.port-8080.downstream_cx_active"
	for name, values := range map[string]map[string]int{
		"a request":         {listener: 1, "listener.0.0.0.0_8080.worker_0.downstream_cx_active": 1, connections: 1, requests: 1},
		"a connection":      {listener: 1, connections: 1},
		"a stream of bytes": {listener: 1},
	} {
		e := &envoy{values: own(values)}
		e.then = func(asked int, all map[string]int) {
			if asked == 3 {
				for name := range values {
					all[name] = 0
				}
			}
		}
		if err := fleet.Drain(t.Context(), e.start(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if e.asked != 3 {
			t.Errorf("%s: it ended after %d questions, want 3", name, e.asked)
		}
		if want := []string{"POST /healthcheck/fail", "POST /drain_listeners?graceful&skip_exit"}; !slices.Equal(e.calls, want) {
			t.Errorf("%s: got %v, want %v", name, e.calls, want)
		}
	}
}

// TestContract90AnAdminPageThatIsBusyEndsNoDrain: Envoy's main thread may have other things to do.
func TestContract90AnAdminPageThatIsBusyEndsNoDrain(t *testing.T) {
	t.Parallel()
	const requests = "http.port-8080.downstream_rq_active"
	e := &envoy{values: own(map[string]int{requests: 1}), busy: map[string]int{"/healthcheck/fail": 1, "/stats": 1}}
	e.then = func(asked int, all map[string]int) {
		if asked == 3 {
			delete(all, requests)
		}
	}
	if err := fleet.Drain(t.Context(), e.start(t)); err != nil {
		t.Error(err)
	}
	if len(e.calls) != 2 || e.asked != 3 {
		t.Errorf("got the calls %v, and %d questions, want it to end with the request", e.calls, e.asked)
	}
}

func TestContract90IdleConnectionsDoNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	e := &envoy{values: own(map[string]int{"listener.0.0.0.0_8080.downstream_cx_active": 1, "http.port-8080.downstream_cx_active": 1})}
	o := e.start(t)
	o.Quiet = 0
	if err := fleet.Drain(t.Context(), o); err != nil {
		t.Error(err)
	}
}

func TestContract90ADrainGoesOnForALeastTimeAndEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	e := &envoy{values: own(nil)}
	o := e.start(t)
	o.Least, o.Timeout = time.Hour, 500*time.Millisecond
	if err := fleet.Drain(t.Context(), o); !errors.Is(err, fleet.ErrDrainTimeout) {
		t.Errorf("nothing is active, and the least time is not over: got %v, want it to go on", err)
	}
	e = &envoy{values: own(map[string]int{"listener.0.0.0.0_8080.downstream_cx_active": 7})}
	o = e.start(t)
	o.Timeout, o.Quiet = 500*time.Millisecond, 0
	if err := fleet.Drain(t.Context(), o); !errors.Is(err, fleet.ErrDrainTimeout) || !strings.Contains(err.Error(), "7 connections are active") {
		t.Errorf("got %v, want what is active", err)
	}
}

func TestTheProgramCopiesItselfAndWaitsForAFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := fleet.InstallProgram(folder, "copy"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(folder, "copy"))
	if err != nil || info.Mode().Perm()&0o111 != 0o111 || info.Size() == 0 {
		t.Fatalf("got %v, %v; want a program", info, err)
	}
	if err := fleet.InstallProgram(folder, "copy"); err != nil {
		t.Errorf("a second time, as after a restart: %v", err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "half.part"), nil, 0o555), os.Mkdir(filepath.Join(folder, "root.part"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"half", "root"} { // root may write to every file, and to no folder
		if err := fleet.InstallProgram(folder, name); err != nil {
			t.Errorf("after a copy that broke off: %v", err)
		}
	}
	if err := fleet.AwaitFile(t.Context(), filepath.Join(folder, "copy")); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := fleet.AwaitFile(ctx, filepath.Join(folder, "other")); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("got %v, want the file that is missing", err)
	}
}
