package controller

import (
	"maps"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
)

// planned takes in which Services there are, before anything runs that may be announced at
// them.
func (t *teller) planned(in assign.Input, plan assign.Plan) {
	uids := make(map[assign.Key]string, len(in.Services))
	for _, service := range in.Services {
		uids[service.Key] = service.UID
	}
	t.audience.planned(plan, uids)
}

// tell tells what a plan says: documents that changed, wishes that are not granted, and
// targets that leave.
func (t *teller) tell(plan assign.Plan) {
	set := t.opts.Documents.Set()
	t.documents(set)
	uids := t.audience.uids
	t.opts.Observe.Planned(t.set, &plan)
	holds := make(map[subject]bool)
	for _, r := range plan.Refusals {
		of := subject{"refusal", r.Namespace, r.Service, r.Pool}
		holds[of] = true
		if t.news(of, r.Reason+r.Message) {
			t.log.Warn("not granted", append(keyArgs(r.Key), "pool", r.Pool, "reason", r.Reason, "message", r.Message)...)
			t.announce(r.Key, explain.Notice{Reason: explain.NoticeReason(r.Reason), Note: r.Message, Service: uids[r.Key]})
		}
	}
	for _, n := range plan.Notices {
		of := subject{"notice " + n.Reason, n.Namespace, n.Service, n.Message}
		holds[of] = true
		if t.news(of, n.Message) {
			t.log.Warn("a setting of the Service has another effect than it seems", append(keyArgs(n.Key), "reason", n.Reason, "message", n.Message)...)
			t.announce(n.Key, explain.Notice{Reason: explain.NoticeReason(n.Reason), Note: n.Message, Service: uids[n.Key]})
		}
	}
	for _, l := range plan.Lost {
		of := subject{"service without pool", l.Namespace, l.Service, l.Pool}
		holds[of] = true
		if t.news(of, l.Slice) {
			t.log.Warn("slices of a pool that no document describes, they stay as they are", append(keyArgs(l.Key), "pool", l.Pool, "slice", l.Slice)...)
		}
	}
	t.tellCrowds(holds)
	t.leaving(plan, holds)
	for _, g := range plan.Groups() {
		holds[subject{kind: "pool", name: g.Pool}], holds[subject{kind: "group", name: name(g)}] = true, true
	}
	for _, each := range plan.Targets {
		holds[subject{"service", each.Namespace, each.Service, ""}] = true
	}
	t.forget(holds)
}

// announce makes a notice known at its Service, but in a dry run.
func (t *teller) announce(key assign.Key, notice explain.Notice) {
	if !t.opts.DryRun {
		t.opts.Announce(key, notice)
	}
}

// leaving tells which targets leave, and why.
func (t *teller) leaving(plan assign.Plan, holds map[subject]bool) {
	if kept := (subject{kind: "services kept"}); plan.Kept != "" {
		holds[kept] = true
		if t.news(kept, plan.Kept) {
			t.log.Error("many Services vanished at once, they are kept", "message", plan.Kept)
		}
	}
	for _, each := range plan.Targets {
		for _, u := range each.Uses {
			if u.Message == "" {
				continue
			}
			of := subject{"use", each.Namespace, each.Service, u.Pool}
			holds[of] = true
			if t.news(of, string(u.State)+u.Message) {
				t.log.Warn("what the Service takes from a pool changes", append(keyArgs(each.Key), "pool", u.Pool, "state", string(u.State), "message", u.Message)...)
			}
		}
	}
}

// forget forgets what of a plan does not hold any more, and says that it is over.
func (t *teller) forget(holds map[subject]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for of := range t.said {
		if of.kind != "labels" && !holds[of] {
			delete(t.said, of)
			t.log.Info("what was told before is over", "what", of.kind, "namespace", of.namespace, "service", of.name, "pool", of.pool)
		}
	}
}

// documents tells what became of documents.
func (t *teller) documents(set documents.Set) {
	if t.variables {
		t.set = set
	}
	if set.Generation == t.set.Generation && len(set.Lost) == len(t.set.Lost) {
		return
	}
	for _, change := range documents.Changes(t.set, set) {
		t.change(change)
	}
	for _, kind := range set.Missing {
		if !slices.Contains(t.set.Missing, kind) {
			t.log.Info("the API server does not have the kind; documents in files and annotations count", "kind", kind)
		}
	}
	for _, kind := range slices.Concat(t.set.Missing, t.set.Lost) {
		if !slices.Contains(set.Missing, kind) && !slices.Contains(set.Lost, kind) {
			t.log.Info("the API server has the kind", "kind", kind)
		}
	}
	for _, m := range set.Mistakes {
		if !slices.Contains(t.set.Mistakes, m) {
			t.log.Error("mistake in a document", "place", m.Place(), "message", m.Error())
		}
	}
	t.set = set
}

// crowded notes the namespaces of which not all is kept.
func (t *teller) crowded(sights []assign.Sight) {
	t.crowds = make(map[string]error)
	for _, sight := range sights {
		if sight.Crowded {
			t.crowds[sight.Namespace] = sight.Err
		}
	}
}

// tellCrowds tells of them.
func (t *teller) tellCrowds(holds map[subject]bool) {
	for _, namespace := range slices.Sorted(maps.Keys(t.crowds)) {
		err := t.crowds[namespace]
		of := subject{kind: "crowded namespace", namespace: namespace}
		holds[of] = true
		if t.news(of, err.Error()) {
			t.log.Error("not all Services of a namespace are known, so none of its Services vanishes", "namespace", namespace, "error", err)
		}
	}
}

// change tells what became of one document.
func (t *teller) change(change documents.Change) {
	e := change.Entry
	args := []any{"document", e.Key.String(), "file", e.File, "line", e.Line}
	switch change.What {
	case documents.Added, documents.Changed, documents.Corrected:
		t.log.Info("a document is in effect", append(args, "change", string(change.What))...)
	case documents.Gone:
		t.log.Warn("a document is gone", args...)
	case documents.Kept:
		if e.Reason == v1alpha1.ReasonOutdated {
			t.log.Error("a document went back in time, what was in effect stays in effect", args...)
			return
		}
		t.log.Error("a document is wrong, its last good version stays in effect", args...)
	case documents.Unusable:
		if e.OnlyChecked != nil {
			t.log.Error("a document is wrong and has no good version, what it published before stays and is checked", args...)
			return
		}
		t.log.Error("a document is wrong and has no good version, what it published before stays", args...)
	}
}
