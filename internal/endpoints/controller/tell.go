package controller

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

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

// unseen tells that there may be slices of which nothing is known.
func (t *teller) unseen(err error) {
	t.log.Info("slices in namespaces that no document names cannot be looked for; if there are any, they stay as they are and are not checked", "error", err)
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
