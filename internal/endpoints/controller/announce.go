package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	limiter "golang.org/x/time/rate"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

const (
	// mostAnnounced is at how many Services something of a pool is announced at once, and
	// announceEvery the time after which one more is allowed: a pool may have thousands,
	// and as many Events would be a load on the API server just when something is wrong.
	mostAnnounced = 50
	announceEvery = 10 * time.Second
)

// audience is where the notices of a pool are announced: at the Services that use it. Of
// each namespace one comes first, so that every team has one.
type audience struct {
	announce func(assign.Key, explain.Notice)
	// variables says that the pool comes from variables, so that no message names it.
	variables bool
	mu        sync.Mutex
	plan      assign.Plan
	uids      map[assign.Key]string
	// names are those of the groups of the plan.
	names map[assign.Group]naming.Names
	// allowed has the allowance of each pool and reason.
	allowed map[allowance]*limiter.Limiter
}

type allowance struct {
	pool   string
	reason explain.NoticeReason
}

func newAudience(announce func(assign.Key, explain.Notice), variables bool) *audience {
	return &audience{announce: announce, variables: variables, allowed: make(map[allowance]*limiter.Limiter)}
}

// planned takes in which Services there are. Pools that are gone are forgotten.
func (a *audience) planned(plan assign.Plan, uids map[assign.Key]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plan, a.uids, a.names = plan, uids, plan.GroupNames()
	used := make(map[string]bool)
	for _, g := range plan.Groups() {
		used[g.Pool] = true
	}
	maps.DeleteFunc(a.allowed, func(of allowance, _ *limiter.Limiter) bool { return !used[of.pool] })
}

// tell announces what happened to a group at its Services.
func (a *audience) tell(key assign.Group, notices []explain.Notice, now time.Time) {
	if len(notices) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	services := a.servicesOf(key)
	for _, notice := range notices {
		of := allowance{key.Pool, notice.Reason}
		if a.allowed[of] == nil {
			a.allowed[of] = limiter.NewLimiter(limiter.Every(announceEvery), mostAnnounced)
		}
		for i, service := range services {
			if !a.allowed[of].AllowN(now, 1) && i > 0 {
				break // the first Service is told everything (contract 16)
			}
			own := notice
			if own.Service = a.uids[service.Key]; !a.variables {
				own.Note = noteOf(key.Pool, service.names, notice)
			}
			a.announce(service.Key, own)
		}
	}
}

// noteOf says what happened to a pool. Why its source cannot be read is for those who have
// its credentials, and they have the log.
func noteOf(pool string, names naming.Names, notice explain.Notice) string {
	unread := map[explain.NoticeReason]string{explain.SourceUnavailable: "its source", explain.PlacementUnavailable: "the nodes of the remote Service's Pods"}[notice.Reason]
	if unread != "" {
		return fmt.Sprintf("pool %s: %s cannot be read, the log of the controller says why; endpoints stay published, and health checks go on", pool, unread)
	}
	return fmt.Sprintf("pool %s: %s", pool, names.Of(notice.Note))
}

// namesOf is how messages about a group name settings.
func (a *audience) namesOf(key assign.Group) naming.Names {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.variables {
		return naming.Names{}
	}
	names := a.names[key]
	names.Spelling, names.Pool = naming.Fields, key.Pool
	return names
}

// place is a Service that a group fills.
type place struct {
	assign.Key
	// rank is how many of its namespace come before it.
	rank  int
	names naming.Names
}

// servicesOf returns the Services that a group fills: the first of each namespace, then
// the second of each, and so on.
func (a *audience) servicesOf(key assign.Group) []place {
	var places []place
	rank := make(map[string]int)
	for i := range a.plan.Targets {
		t := &a.plan.Targets[i]
		j := slices.IndexFunc(t.Uses, func(u assign.PoolUse) bool { return u.Group == key && u.State != assign.Emptied })
		if j < 0 || t.DryRun {
			continue
		}
		places = append(places, place{t.Key, rank[t.Namespace], t.Uses[j].Names(t.Key)})
		rank[t.Namespace]++
	}
	slices.SortStableFunc(places, func(x, y place) int { return cmp.Compare(x.rank, y.rank) })
	return places
}
