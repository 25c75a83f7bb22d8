package serve

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
)

// teller logs and announces what happened, once.
type teller struct {
	opts Options
	log  *slog.Logger
	// set is the one whose changes were told last.
	set documents.Set

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
	return &teller{opts: opts, log: opts.Logger, said: make(map[subject]string)}
}

// news reports whether that was not said of the subject before; saying nothing forgets it.
func (t *teller) news(of subject, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.said[of]
	if text == "" {
		delete(t.said, of)
	} else {
		t.said[of] = text
	}
	return before != text
}

// trouble returns an error as its reader reads it, and whether it is news that it holds
// or that it is over.
func (t *teller) trouble(of subject, err error) (text string, news bool) {
	if err != nil {
		text = setting.Fields.Of(err.Error())
	}
	return text, t.news(of, text)
}

func (t *teller) labels(err error) {
	switch text, news := t.trouble(subject{kind: "labels"}, err); {
	case news && err != nil:
		t.log.Error("the labels of namespaces cannot be read, so no target vanishes", "error", text)
	case news:
		t.log.Info("the labels of namespaces can be read again")
	}
}

func (t *teller) pool(name string, err error) {
	switch text, news := t.trouble(subject{kind: "pool", name: name}, err); {
	case news && err != nil:
		t.log.Error("the pool cannot be read as its document says, its endpoints stay as they are", "pool", name, "error", text)
	case news:
		t.log.Info("the pool can be read", "pool", name)
	}
}

func (t *teller) group(key resolve.Group, err error) {
	log := t.log.With(groupArgs(key)...)
	switch text, news := t.trouble(subject{kind: "group", name: name(key)}, err); {
	case news && err != nil:
		log.Error("the endpoints cannot be checked as the document says, they stay as they are", "error", text)
	case news:
		log.Info("the endpoints can be checked")
	}
}

func (t *teller) target(key resolve.Key, err error) {
	log := t.log.With(keyArgs(key)...)
	switch text, news := t.trouble(subject{"target", key.Namespace, key.Service, ""}, err); {
	case news && err != nil:
		log.Error("the Service cannot be filled, its slices stay as they are", "error", text)
	case news:
		log.Info("the Service can be filled")
	}
}

func keyArgs(key resolve.Key) []any {
	return []any{"namespace", key.Namespace, "service", key.Service}
}

func groupArgs(key resolve.Group) []any {
	return []any{"pool", key.Pool, "health_check_mode", string(key.Check.Mode), "health_check_port", key.Check.Port}
}

// ofGroup returns what tells the outcomes of a group.
func (t *teller) ofGroup(key resolve.Group) func(pool.Outcome) {
	var memory narration.Pool
	log := t.log.With(groupArgs(key)...)
	return func(o pool.Outcome) {
		var story narration.Story
		memory, story = memory.Tell(o)
		say(log, setting.Fields, story)
	}
}

// ofTarget returns what tells the outcomes of a target, at its Service too.
func (t *teller) ofTarget(key resolve.Key, dryRun bool, fills []fill) func(target.Outcome) {
	memories := make(map[string]narration.Target, len(fills))
	for _, each := range fills {
		memories[each.verdict] = narration.Target{DryRun: dryRun}
	}
	spelling := fills[0].of.Spelling
	log := t.log.With(keyArgs(key)...)
	return func(o target.Outcome) {
		memory, story := memories[o.Pool].Tell(o)
		memories[o.Pool] = memory
		say(log, spelling, story)
		if dryRun {
			return
		}
		for _, notice := range story.Notices {
			notice.Service, notice.Note = o.State.Service.UID, spelling.Of(notice.Note)
			t.opts.Announce(key, notice)
		}
	}
}

// say logs a story, with settings as its readers spell them.
func say(log *slog.Logger, spelling setting.Spelling, story narration.Story) {
	for _, line := range story.Lines {
		args := slices.Clone(line.Args)
		for i, arg := range args {
			switch value := arg.(type) {
			case string:
				args[i] = spelling.Of(value)
			case error:
				args[i] = spelling.Of(value.Error())
			}
		}
		levelOf(line.Level, log)(spelling.Of(line.Message), args...)
	}
}

func levelOf(level narration.Level, log *slog.Logger) func(string, ...any) {
	switch level {
	case narration.Debug:
		return log.Debug
	case narration.Warn:
		return log.Warn
	case narration.Error:
		return log.Error
	case narration.Info:
	}
	return log.Info
}

// tell tells what a plan says: documents that changed, wishes that are not granted, and
// targets that leave.
func (t *teller) tell(in resolve.Input, plan resolve.Plan) {
	t.documents(t.opts.Documents.Set())
	uids := make(map[resolve.Key]string, len(in.Services))
	for _, service := range in.Services {
		uids[service.Key] = service.UID
	}
	holds := make(map[subject]bool)
	for _, r := range plan.Refusals {
		of := subject{"refusal", r.Namespace, r.Service, r.Pool}
		holds[of] = true
		if !t.news(of, r.Reason+r.Message) {
			continue
		}
		t.log.Warn("not granted", append(keyArgs(r.Key), "pool", r.Pool, "reason", r.Reason, "problem", r.Message)...)
		if !t.opts.DryRun {
			t.opts.Announce(r.Key, narration.Notice{Reason: narration.NoticeReason(r.Reason), Note: r.Message, Service: uids[r.Key]})
		}
	}
	for _, n := range plan.Notices {
		of := subject{"notice " + n.Reason, n.Namespace, n.Service, n.Message}
		holds[of] = true
		if t.news(of, n.Message) {
			t.log.Warn("a setting without effect", append(keyArgs(n.Key), "reason", n.Reason, "problem", n.Message)...)
		}
	}
	for _, l := range plan.Lost {
		of := subject{"lost", l.Namespace, l.Service, l.Pool}
		holds[of] = true
		if t.news(of, l.Slice) {
			t.log.Warn("slices of a pool that no document describes, they stay as they are", append(keyArgs(l.Key), "pool", l.Pool, "slice", l.Slice)...)
		}
	}
	t.leaving(plan, holds)
	t.forget(holds)
}

// leaving tells which targets leave, and why.
func (t *teller) leaving(plan resolve.Plan, holds map[subject]bool) {
	if kept := (subject{kind: "kept"}); plan.Kept != "" {
		holds[kept] = true
		if t.news(kept, plan.Kept) {
			t.log.Error("many targets vanished at once, they are kept", "problem", plan.Kept)
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
				t.log.Warn("the target changes", append(keyArgs(each.Key), "pool", u.Pool, "state", string(u.State), "reason", u.Message)...)
			}
		}
	}
}

// forget forgets what of a plan does not hold any more, and says that it is over.
func (t *teller) forget(holds map[subject]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for of := range t.said {
		switch of.kind {
		case "labels", "pool", "group", "target":
			continue
		}
		if !holds[of] {
			delete(t.said, of)
			t.log.Info("what was told before is over", "what", of.kind, "namespace", of.namespace, "service", of.name, "pool", of.pool)
		}
	}
}

// documents tells what became of documents.
func (t *teller) documents(set documents.Set) {
	if set.Generation == t.set.Generation {
		return
	}
	for _, change := range documents.Changes(t.set, set) {
		args := []any{"document", change.Entry.Key.String(), "file", change.Entry.File, "line", change.Entry.Line}
		switch change.What {
		case documents.Added, documents.Changed, documents.Corrected:
			t.log.Info("a document is in effect", append(args, "change", string(change.What))...)
		case documents.Gone:
			t.log.Warn("a document is gone", args...)
		case documents.Kept:
			t.log.Error("a document is wrong, its last good version stays in effect", args...)
		case documents.Unusable:
			t.log.Error("a document is wrong and has no good version, what it published before stays", args...)
		}
	}
	for _, m := range set.Mistakes {
		if !slices.Contains(t.set.Mistakes, m) {
			t.log.Error("mistake in a document", "place", m.Place(), "problem", m.Error())
		}
	}
	t.set = set
}
