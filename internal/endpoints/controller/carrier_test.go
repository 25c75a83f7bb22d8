package controller_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// movingDocuments are documents whose pool moves between a file and the API server.
type movingDocuments struct {
	now     atomic.Pointer[documents.Set]
	changed chan struct{}
}

func (m *movingDocuments) Set() documents.Set       { return *m.now.Load() }
func (m *movingDocuments) Changed() <-chan struct{} { return m.changed }

// move brings the pool into the API server with that UID, or into a file without one.
func (m *movingDocuments) move(uid string) {
	set := m.Set()
	set.Entries, set.Generation = slices.Clone(set.Entries), set.Generation+1
	for i := range set.Entries {
		e := &set.Entries[i]
		if e.Pool == nil {
			continue
		}
		e.Pool, e.Object, e.Reason = e.Pool.DeepCopy(), nil, ""
		if e.Pool.UID = types.UID(uid); uid != "" {
			e.Object, e.Reason = &documents.Object{UID: uid, Generation: 1}, v1alpha1.ReasonAccepted
		}
	}
	m.now.Store(&set)
	m.changed <- struct{}{}
}

// TestContract81APoolThatMovesIsReadByTheRulesOfItsNewPlace: what a file may have run ends
// when the pool is in the API server, begins when it is in a file again, and neither takes
// an endpoint away.
func TestContract81APoolThatMovesIsReadByTheRulesOfItsNewPlace(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r, m := newResting("web"), &movingDocuments{changed: make(chan struct{})}
		r.right = true
		m.now.Store(&r.set)
		refused, running := errors.New("the kubeconfig runs a program"), atomic.Int64{}
		options := r.options(passProber{}, nil)
		options.Documents = m
		inFile := options.Supply
		options.Supply = func(pool *v1alpha1.EndpointPool) (controller.Supply, error) {
			supply, err := inFile(pool)
			made := supply.Make
			supply.Make = func() (controller.Origin, error) {
				if pool.UID != "" {
					return controller.Origin{}, refused
				}
				origin, err := made()
				origin.Run = func(ctx context.Context) error { running.Add(1); <-ctx.Done(); running.Add(-1); return nil }
				return origin, err
			}
			return supply, err
		}
		server, err := controller.New(options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = server.Run(ctx) }()
		for i, uid := range []string{"", "u1", "", "u2"} {
			if i > 0 {
				m.move(uid)
			}
			r.counted(2 * time.Minute) // a read, in between and at its end
			runs, state := running.Load(), server.Snapshot().Groups[0].State
			if inFile := uid == ""; (runs == 1) != inFile || (state.Source.LastErr == nil) != inFile {
				t.Errorf("place %d, UID %q: got %d that run, and error %v of the last read", i, uid, runs, state.Source.LastErr)
			}
			if len(state.Verdict.Members) != 1 || len(r.writes) != 0 {
				t.Errorf("place %d, UID %q: got members %+v and writes %+v, want the one endpoint and no write", i, uid, state.Verdict.Members, r.writes)
			}
		}
		cancel()
		synctest.Wait()
	})
}
