package controller

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// teller logs and announces what happened, once.
type teller struct {
	opts Options
	log  *slog.Logger
	// audience is told what happens to pools.
	audience *audience
	// variables says that variables say what is filled, and unread what was told of their slices
	// before the first plan.
	variables bool
	unread    explain.ServiceStory
	// thorough says that every changed decision is logged as well.
	thorough bool
	// set is the one whose changes were told last.
	set documents.Set

	// revision is that of the Snapshot: it grows after each change of it, but for the newest
	// results of checks.
	revision atomic.Uint64

	mu sync.Mutex
	// said is what was last said of each subject.
	said map[subject]string
	// crowds are the namespaces of which not all is kept, and what to do.
	crowds map[string]error
}

// subject is something of which one thing holds at a time.
type subject struct{ kind, namespace, name, pool string }

func newTeller(opts Options) *teller {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	announce := opts.Announce
	if opts.DryRun {
		announce = func(assign.Key, explain.Notice) {}
	}
	variables := opts.Documents.Set().Variables
	return &teller{opts: opts, log: opts.Logger, audience: newAudience(announce, variables), variables: variables, said: make(map[subject]string)}
}

// news reports whether that was not said of the subject before; saying nothing forgets it.
func (t *teller) news(of subject, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.said[of]
	if before == text {
		return false
	}
	if text == "" {
		delete(t.said, of)
	} else {
		t.said[of] = text
	}
	t.revision.Add(1)
	return true
}

// trouble returns an error as its reader reads it, and whether it is news that it holds
// or that it is over.
func (t *teller) trouble(of subject, names naming.Names, err error) (text string, news bool) {
	if err != nil {
		if text = err.Error(); !t.variables {
			names.Spelling = naming.Fields
			text = names.Of(text)
		}
	}
	return text, t.news(of, text)
}

func (t *teller) labels(err error) {
	switch text, news := t.trouble(subject{kind: "labels"}, naming.Names{}, err); {
	case news && err != nil:
		t.log.Error("the labels of namespaces cannot be read, so no Service vanishes", "error", text)
	case news:
		t.log.Info("the labels of namespaces can be read again")
	}
}

func (t *teller) pool(name string, err error) {
	switch text, news := t.trouble(subject{kind: "pool", name: name}, naming.Names{Pool: name}, err); {
	case news && err != nil:
		t.log.Error("the pool cannot be read as its document says; its endpoints stay published, and health checks go on", "pool", name, "error", text)
	case news:
		t.log.Info("the pool can be read", "pool", name)
	}
}

func (t *teller) group(key assign.Group, err error) {
	log := t.log.With(t.groupArgs(key)...)
	switch text, news := t.trouble(subject{kind: "group", name: name(key)}, t.audience.namesOf(key), err); {
	case news && err != nil:
		log.Error("the endpoints cannot be checked as the document says, they stay as they are", "error", text)
	case news:
		log.Info("the endpoints can be checked")
	}
}

func (t *teller) target(key assign.Key, err error) {
	log := t.log.With(keyArgs(key)...)
	switch text, news := t.trouble(subject{"service", key.Namespace, key.Service, ""}, naming.Names{Target: key.String()}, err); {
	case news && err != nil:
		log.Error("the Service cannot be filled, its slices stay as they are", "error", text)
	case news:
		log.Info("the Service can be filled")
	}
}

// ofGroup returns what tells and shows the outcomes of a group.
func (t *teller) ofGroup(key assign.Group, g *group) func(pool.Outcome) {
	memory := explain.Pool{Thorough: t.thorough}
	log, observe := t.log.With(t.groupArgs(key)...), t.opts.Observe.OfGroup(key)
	return func(o pool.Outcome) {
		var story explain.Story
		memory, story = memory.Tell(o)
		observe(o, memory)
		g.see(o, memory, story)
		if !o.Beat {
			t.revision.Add(1)
		}
		say(log, t.audience.namesOf(key), story)
		t.audience.tell(key, story.Notices, o.At)
	}
}

// ofTarget returns what tells and shows the outcomes of a target, at its Service too.
func (t *teller) ofTarget(key assign.Key, f *filler) func(writer.Outcome) {
	most := mostWrites
	if t.variables {
		most = explain.MaxCycles
	}
	memories := make(map[string]explain.ServiceStory, len(f.fills))
	for _, each := range f.fills {
		memories[each.of.SliceName] = explain.ServiceStory{DryRun: f.dryRun}
	}
	log, observe := t.log.With(keyArgs(key)...), t.opts.Observe.OfTarget(key, f.dryRun)
	return func(o writer.Outcome) {
		memory, story := memories[o.SliceName].Tell(o)
		memories[o.SliceName] = memory
		observe(o)
		f.see(o, story, most)
		t.revision.Add(1)
		names := f.names(o.SliceName)
		say(log, names, story)
		if f.dryRun {
			return
		}
		for _, notice := range story.Notices {
			notice.Service, notice.Note = o.State.Service.UID, names.Of(notice.Note)
			t.opts.Announce(key, notice)
		}
	}
}

// say logs a story, with settings as its readers name them.
func say(log *slog.Logger, names naming.Names, story explain.Story) {
	for _, line := range story.Lines {
		args := slices.Clone(line.Args)
		for i, arg := range args {
			switch value := arg.(type) {
			case string:
				args[i] = names.Of(value)
			case error:
				args[i] = names.Of(value.Error())
			}
		}
		levelOf(line.Level, log)(names.Of(line.Message), args...)
	}
}

func levelOf(level explain.Level, log *slog.Logger) func(string, ...any) {
	switch level {
	case explain.Debug:
		return log.Debug
	case explain.Warn:
		return log.Warn
	case explain.Error:
		return log.Error
	case explain.Info:
	}
	return log.Info
}

func keyArgs(key assign.Key) []any {
	return []any{"namespace", key.Namespace, "service", key.Service}
}

func (t *teller) groupArgs(key assign.Group) []any {
	args := []any{"pool", key.Pool, "health_check_mode", string(key.Check.Mode), "health_check_port", key.Check.Port}
	if key.Remote != (inventory.RemoteService{}) {
		args = append(args, "remote_service", key.Remote.String())
	}
	if t.variables { // no message names their pool
		return args[2:]
	}
	return args
}

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
			t.log.Info("a reported problem is over", "what", of.kind, "namespace", of.namespace, "service", of.name, "pool", of.pool)
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
			t.log.Error("not all Services and slices of a namespace are known, so none of its Services vanishes", "namespace", namespace, "error", err)
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
			t.log.Error("a document went back in time, the last version in effect stays", args...)
			return
		}
		t.log.Error("a document is wrong, its last good version stays in effect", args...)
	case documents.Unusable:
		if e.OnlyChecked != nil {
			t.log.Error("a document is wrong and has no good version, its published endpoints stay and are checked", args...)
			return
		}
		t.log.Error("a document is wrong and has no good version, its published endpoints stay", args...)
	}
}
