package controllertest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// ear is an Announcer that remembers.
type ear struct {
	mu    sync.Mutex
	heard []explain.Notice
}

func (e *ear) Announce(notice explain.Notice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, notice)
}

// taken returns what was heard since the last call.
func (e *ear) taken() []explain.Notice {
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := e.heard
	e.heard = nil
	return heard
}

// said spells notices as "Reason: note; added 10.0.0.1 (ready)".
func said(notices []explain.Notice) []string {
	all := []string{}
	for _, n := range notices {
		text := string(n.Reason) + ": " + n.Note
		for _, list := range n.Lists {
			text += "; " + list.Name + " " + strings.Join(list.Items, ", ")
		}
		all = append(all, text)
	}
	return all
}

// reasons returns the reasons, without those of changes of the slices.
func reasons(notices []explain.Notice) []string {
	all := []string{}
	for _, n := range notices {
		if n.Reason != explain.EndpointsUpdated {
			all = append(all, string(n.Reason))
		}
	}
	return all
}

// want compares what was heard, word by word.
func (e *ear) want(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), said(e.taken())); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// wantReasons compares the reasons of what was heard.
func (e *ear) wantReasons(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), reasons(e.taken())); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// inTold is inWorld with an ear.
func inTold(t *testing.T, test func(t *testing.T, w *world, e *ear)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w, e := newWorld(t, 11, 12, 13), &ear{}
		w.opts.Announcer = e
		w.start()
		during(3 * time.Second)
		e.want(t, "EndpointsUpdated: 3 of 3 endpoints ready; added 10.0.0.11 (ready), 10.0.0.12 (ready), 10.0.0.13 (ready)")
		test(t, w, e)
		w.stop()
	})
}
