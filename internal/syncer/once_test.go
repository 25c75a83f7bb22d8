package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// unlucky is a store whose writes of some numbers fail, the first being 1.
type unlucky struct {
	syncer.Store
	fails map[int]error
	tries int
}

func (u *unlucky) Write(ctx context.Context, w plan.Write) (string, error) {
	u.tries++
	if err := u.fails[u.tries]; err != nil {
		return "", fmt.Errorf("write %d: %w", u.tries, err)
	}
	return u.Store.Write(ctx, w)
}

func TestOnceCountsWhatLandedOverAllItsTries(t *testing.T) {
	forbidden := errors.New("forbidden")
	for name, test := range map[string]struct {
		fails         map[int]error
		landed, tries int
		err           error
	}{
		"nothing fails":                           {nil, 3, 3, nil},
		"a conflict after the first":              {map[int]error{2: plan.ErrConflict}, 3, 4, nil},
		"one may not be written":                  {map[int]error{2: forbidden}, 2, 3, forbidden},
		"the last one conflicts at each attempt":  {map[int]error{3: plan.ErrConflict, 4: plan.ErrConflict, 5: plan.ErrConflict}, 2, 5, plan.ErrConflict},
		"the first one conflicts at each attempt": {map[int]error{1: plan.ErrConflict, 2: plan.ErrConflict, 3: plan.ErrConflict}, 0, 3, plan.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 11, 12, 13)
				w.opts.Target.MaxEndpoints = 1
				store := &unlucky{Store: w.store, fails: test.fails}
				w.opts.Store = store
				a, err := newSyncer(t, w).Once(t.Context())
				if !errors.Is(err, test.err) {
					t.Errorf("got error %v, want %v", err, test.err)
				}
				if a.Landed() != test.landed || store.tries != test.tries || len(a.Results) != test.tries {
					t.Errorf("got %d of %d writes that landed, and %d results; want %d of %d", a.Landed(), store.tries, len(a.Results), test.landed, test.tries)
				}
			})
		})
	}
}

// lost is a store that loses its first answers; the write lands or not.
type lost struct {
	syncer.Store
	lands          bool
	answers, tries int
}

func (l *lost) Write(ctx context.Context, w plan.Write) (string, error) {
	l.tries++
	if l.tries > l.answers {
		return l.Store.Write(ctx, w)
	}
	if l.lands {
		if _, err := l.Store.Write(ctx, w); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("write %d: %w", l.tries, context.DeadlineExceeded)
}

func TestOnceReadsAgainWhereTheAnswerToAWriteWasLost(t *testing.T) {
	for name, test := range map[string]struct {
		lands          bool
		answers, tries int
		err            error
	}{
		"the write landed":        {true, 1, 1, nil},
		"the write did not land":  {false, 1, 2, nil},
		"no write gets an answer": {false, 9, serve.Tries, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 11)
				store := &lost{Store: w.store, lands: test.lands, answers: test.answers}
				w.opts.Store = store
				if _, err := newSyncer(t, w).Once(t.Context()); !errors.Is(err, test.err) {
					t.Errorf("got error %v, want %v", err, test.err)
				}
				if store.tries != test.tries {
					t.Errorf("got %d writes, want %d", store.tries, test.tries)
				}
			})
		})
	}
}
