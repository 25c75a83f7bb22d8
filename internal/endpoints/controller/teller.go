package controller

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime/debug"
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
	// set is the one whose changes were told last, and holds has the subjects of which the newest
	// plan says something.
	set   documents.Set
	holds map[subject]bool

	// revision is that of the Snapshot: it grows after each change of it, but for the newest
	// results of checks.
	revision atomic.Uint64

	mu sync.Mutex
	// said is what was last said of each subject.
	said map[subject]string
}

// subject is something of which one thing holds at a time.
type subject struct{ kind, namespace, name, pool string }

func newTeller(opts Options) *teller {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.DryRun {
		opts.Announce = func(assign.Key, explain.Notice) {}
	}
	variables := opts.Documents.Set().Variables
	return &teller{opts: opts, log: opts.Logger, audience: newAudience(opts.Announce, variables), variables: variables, said: make(map[subject]string)}
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

// trouble tells that an error holds of a subject, as its reader reads it, and that it is over.
func (t *teller) trouble(of subject, names naming.Names, err error, holds, over string, args ...any) {
	text := ""
	if err != nil {
		if text = err.Error(); !t.variables {
			names.Spelling = naming.Fields
			text = names.Of(text)
		}
	}
	switch news := t.news(of, text); {
	case news && err != nil:
		t.log.Error(holds, append(args, "error", text)...) //nolint:sloglint // callers give constants
	case news:
		t.log.Info(over, args...) //nolint:sloglint // as above
	}
}

func (t *teller) labels(err error) {
	t.trouble(subject{kind: "labels"}, naming.Names{}, err,
		"the labels of namespaces cannot be read, so no Service vanishes", "the labels of namespaces can be read again")
}

func (t *teller) pool(name string, err error) {
	t.trouble(subject{kind: "pool", name: name}, naming.Names{Pool: name}, err,
		"the pool cannot be read as its document says; its endpoints stay published, and health checks go on", "the pool can be read", "pool", name)
}

func (t *teller) group(key assign.Group, err error) {
	t.trouble(subject{kind: "group", name: name(key)}, t.audience.namesOf(key), err,
		"the endpoints cannot be checked as the document says, they stay as they are", "the endpoints can be checked", t.groupArgs(key)...)
}

func (t *teller) target(key assign.Key, err error) {
	t.trouble(subject{"service", key.Namespace, key.Service, ""}, naming.Names{Target: key.String()}, err,
		"the Service cannot be filled, its slices stay as they are", "the Service can be filled", keyArgs(key)...)
}

// ofGroup returns what tells and shows the outcomes of a group.
func (t *teller) ofGroup(key assign.Group, g *group) func(pool.Outcome) {
	var memory explain.Pool
	log, observe := t.log.With(t.groupArgs(key)...), t.opts.Observe.OfGroup(key)
	explains, says := contained(log), contained(log)
	return func(o pool.Outcome) {
		var story explain.Story
		explains(func() {
			memory, story = memory.Tell(o)
			observe(o, memory)
		})
		g.see(o, memory, story)
		if !o.Beat {
			t.revision.Add(1)
		}
		says(func() {
			say(log, t.audience.namesOf(key), story)
			t.audience.tell(key, story.Notices, o.At)
		})
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
	explains, says := contained(log), contained(log)
	return func(o writer.Outcome) {
		var story explain.Story
		explains(func() {
			memories[o.SliceName], story = memories[o.SliceName].Tell(o)
			observe(o)
		})
		f.see(o, story, most)
		t.revision.Add(1)
		says(func() {
			names := f.names(o.SliceName)
			say(log, names, story)
			if f.dryRun {
				return
			}
			for _, notice := range story.Notices {
				notice.Service, notice.Note = o.State.Service.UID, names.Of(notice.Note)
				t.opts.Announce(key, notice)
			}
		})
	}
}

// contained returns what runs something that tells. A panic in it holds up no decision and no
// write, and is told once, until it is over.
func contained(log *slog.Logger) func(tell func()) {
	broken := false
	return func(tell func()) {
		defer func() {
			cause := recover()
			if cause != nil && !broken {
				stack := debug.Stack()
				log.Error("a defect of the program: telling what happened panicked; endpoints are checked and written all the same",
					"panic", fmt.Sprint(cause), "stack", string(stack[:min(len(stack), mostStack)]))
			}
			broken = cause != nil
		}()
		tell()
	}
}

// mostStack is how many bytes of a stack are told.
const mostStack = 4 << 10

// say logs a story, with settings as its readers name them.
func say(log *slog.Logger, names naming.Names, story explain.Story) {
	for _, line := range story.Lines {
		levels := [...]func(string, ...any){explain.Debug: log.Debug, explain.Info: log.Info, explain.Warn: log.Warn, explain.Error: log.Error}
		args := slices.Clone(line.Args)
		for i, arg := range args {
			switch value := arg.(type) {
			case string:
				args[i] = names.Of(value)
			case error:
				args[i] = names.Of(value.Error())
			}
		}
		levels[line.Level](names.Of(line.Message), args...)
	}
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

// tell tells what a plan says: documents that changed, wishes that are not granted, targets
// that leave, and of which namespaces not all is known.
func (t *teller) tell(plan assign.Plan, sights []assign.Sight) {
	t.documents(t.opts.Documents.Set())
	t.opts.Observe.Planned(t.set, &plan)
	t.holds = make(map[subject]bool)
	announce := func(key assign.Key, reason, note string) {
		t.opts.Announce(key, explain.Notice{Reason: explain.NoticeReason(reason), Note: note, Service: t.audience.uids[key]})
	}
	for _, r := range plan.Refusals {
		if t.tells(subject{"refusal", r.Namespace, r.Service, r.Pool}, r.Reason+r.Message, t.log.Warn,
			"not granted", append(keyArgs(r.Key), "pool", r.Pool, "reason", r.Reason, "message", r.Message)...) {
			announce(r.Key, r.Reason, r.Message)
		}
	}
	for _, n := range plan.Notices {
		about := cmp.Or(n.Pool, n.Message) // told when it begins
		if t.tells(subject{"notice " + n.Reason, n.Namespace, n.Service, about}, about, t.log.Warn,
			"a setting of the Service has another effect than it seems", append(keyArgs(n.Key), "reason", n.Reason, "message", n.Message)...) {
			announce(n.Key, n.Reason, n.Message)
		}
	}
	for _, l := range plan.Lost {
		t.tells(subject{"service without pool", l.Namespace, l.Service, l.Pool}, l.Pool, t.log.Warn, // once, whatever number of slices
			"slices of a pool that no document describes, they stay as they are", append(keyArgs(l.Key), "pool", l.Pool, "slice", l.Slice)...)
	}
	for _, s := range sights {
		if s.Crowded {
			t.tells(subject{kind: "crowded namespace", namespace: s.Namespace}, s.Err.Error(), t.log.Error,
				"not all Services and slices of a namespace are known, so none of its Services vanishes", "namespace", s.Namespace, "error", s.Err)
		}
	}
	t.leaving(plan)
	for _, g := range plan.Groups() {
		t.holds[subject{kind: "pool", name: g.Pool}], t.holds[subject{kind: "group", name: name(g)}] = true, true
	}
	t.forget()
}

// leaving tells which targets leave, and why.
func (t *teller) leaving(plan assign.Plan) {
	if plan.Kept != "" {
		t.tells(subject{kind: "services kept"}, "kept", t.log.Error, "many Services vanished at once, they are kept", "message", plan.Kept)
	}
	for _, each := range plan.Targets {
		t.holds[subject{"service", each.Namespace, each.Service, ""}] = true
		for _, u := range each.Uses {
			if u.Message != "" {
				t.tells(subject{"use", each.Namespace, each.Service, u.Pool}, string(u.State)+cmp.Or(u.Waits, u.Message), t.log.Warn,
					"what the Service takes from a pool changes", append(keyArgs(each.Key), "pool", u.Pool, "state", string(u.State), "message", u.Message)...)
			}
		}
	}
}

// tells logs what a plan says of a subject where that is news, and reports whether it is.
func (t *teller) tells(of subject, text string, log func(string, ...any), message string, args ...any) bool {
	t.holds[of] = true
	news := t.news(of, text)
	if news {
		log(message, args...)
	}
	return news
}

// forget forgets what of a plan does not hold any more, and says that it is over.
func (t *teller) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for of := range t.said {
		if of.kind != "labels" && of.kind != "search" && !t.holds[of] {
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
	t.mistakes(set.Mistakes)
	t.set = set
}

// mistakes tells those that are new, the first mostMistakes of them and how many there are more:
// many may write documents.
func (t *teller) mistakes(all []documents.Mistake) {
	before, news := make(map[documents.Mistake]bool, len(t.set.Mistakes)), 0
	for _, m := range t.set.Mistakes {
		before[m] = true
	}
	for _, m := range all {
		if before[m] {
			continue
		}
		if news++; news <= mostMistakes {
			t.log.Error("mistake in a document", "place", m.Place(), "message", m.Error())
		}
	}
	if news > mostMistakes {
		t.log.Error("there are further mistakes in documents, which the status page shows", "mistakes", news-mostMistakes)
	}
}

// mostMistakes is how many mistakes are told that come at once.
const mostMistakes = 100

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
