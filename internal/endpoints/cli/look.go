package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// looking gets what status and explain show: from the daemon or, where none answers, by
// looking itself.
type looking struct {
	Program
	config settings.Config
	scope  scope
	// command is the command, and needs what it needs beside a Service.
	command, needs string
	// subject is the node or address to explain; it is empty for status.
	subject string
	// alone says not to ask a daemon, and wait to look until all is well.
	alone, wait bool
	timeout     time.Duration
	out         commandline.Format
	// said is the last message on stderr; each is given once.
	said string
}

// flags adds what status and explain take.
func (l *looking) flags(cmd *cobra.Command) {
	scopeFlags(cmd, &l.scope)
	cmd.Flags().BoolVar(&l.alone, "compute", false, "ask no daemon; read source and slices and check the endpoints now")
	timeoutFlag(cmd, &l.timeout)
	commandline.ChooseOutput(cmd, &l.out, commandline.Text, commandline.Wide, commandline.JSON, commandline.YAML)
}

// run shows what there is, within the time-out.
func (l *looking) run(ctx context.Context) error {
	l.scope.listed(l.out)
	var err error
	if l.config, err = l.load(); err == nil {
		err = l.scope.check(l.config)
	}
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, l.timeout)
	defer cancel()
	if l.wait {
		return l.await(ctx)
	}
	v, err := l.look(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	return l.show(v)
}

// say writes a message on stderr unless it was the last.
func (l *looking) say(message string) {
	if message != l.said {
		l.said = message
		fmt.Fprintln(l.Stderr, plain(message))
	}
}

// look asks the daemon or, where none answers or where it knows no nodes to explain, looks
// itself. With --wait and the store in memory it only asks: what is published is in the
// daemon and nowhere else.
func (l *looking) look(ctx context.Context) (view, error) {
	if l.alone {
		return l.evaluate(ctx)
	}
	v, err := l.ask(ctx, daemon{l.config})
	var none *report.NoService
	var usage *exitError
	instead := "The daemon knows no nodes"
	switch {
	case err == nil && (l.subject == "" || v.head().Decided && !v.head().StandsBy()), errors.As(err, &usage):
		return v, err
	case errors.As(err, &none) && l.config.Documents.Used():
		return v, &exitError{ExitDifferent, err}
	case ctx.Err() != nil:
		return v, ctx.Err()
	case l.wait && l.config.Store.Kind == settings.StoreMemory:
		return v, err
	case err != nil:
		instead = "No answer from the daemon: " + err.Error()
	default:
		instead += ": " + v.progress()
	}
	if !l.wait {
		l.say(instead + "; evaluating locally instead.")
	}
	return l.evaluate(ctx)
}

// evaluate looks at everything itself, and writes nothing.
func (l *looking) evaluate(ctx context.Context) (view, error) {
	started := time.Now()
	b, a, err := l.assess(ctx, l.config)
	if err != nil {
		return view{}, err
	}
	for _, err := range a.Blind {
		l.say("Not everything is known: " + err.Error())
	}
	return l.ask(ctx, evaluation{b.found(a, started)})
}

// answerer is who is asked: the daemon, or what this command found out itself.
type answerer interface {
	services(context.Context, scope) (*report.Services, json.RawMessage, error)
	service(context.Context, scope) (*report.Document, json.RawMessage, error)
	explanation(ctx context.Context, s scope, subject string) (*report.Explanation, json.RawMessage, error)
}

// evaluation is what this command found out itself.
type evaluation struct{ report.Process }

func (e evaluation) services(_ context.Context, s scope) (*report.Services, json.RawMessage, error) {
	return e.Services(report.Query{Namespace: s.namespace, Limit: math.MaxInt}), nil, nil
}

func (e evaluation) service(_ context.Context, s scope) (*report.Document, json.RawMessage, error) {
	d, err := e.Service(s.namespace, s.service)
	if err != nil {
		return nil, nil, &exitError{ExitDifferent, err}
	}
	return d, nil, nil
}

func (e evaluation) explanation(_ context.Context, s scope, subject string) (*report.Explanation, json.RawMessage, error) {
	return e.Explain(subject, report.Query{Namespace: s.namespace, Limit: math.MaxInt}), nil, nil
}

// ask asks for what the scope names, which is the only Service where it names nothing, and
// for what is known of the subject.
func (l *looking) ask(ctx context.Context, of answerer) (v view, err error) {
	s := l.scope
	if s.many() || s == (scope{}) {
		if v.services, v.raw, err = of.services(ctx, s); err != nil {
			return view{}, err
		}
	}
	if s == (scope{}) {
		if v.services.Known != 1 {
			return view{}, &exitError{ExitUsage, errNoScope(l.command, l.needs)}
		}
		s = scope{namespace: v.services.Services[0].Namespace, service: v.services.Services[0].Service}
	}
	switch {
	case !s.many():
		v = view{}
		v.service, v.raw, err = of.service(ctx, s)
		if err == nil && l.subject != "" {
			v.explanation, v.raw = v.service.Explain(l.subject), nil
		}
	case l.subject != "":
		v.explanation, v.raw, err = of.explanation(ctx, s, l.subject)
	}
	return v, err
}

// await looks until all is well, and says on stderr what is wrong whenever that changes. At
// the time-out it shows what it saw last.
func (l *looking) await(ctx context.Context) error {
	var last view
	for {
		v, err := l.look(ctx)
		var usage *exitError
		switch {
		case errors.As(err, &usage) && usage.code == ExitUsage:
			return err
		case err == nil && v.healthy():
			return l.show(v)
		case ctx.Err() != nil:
		case err != nil:
			l.say("Waiting: " + err.Error())
		default:
			last = v
			l.say("Waiting: " + v.progress())
		}
		pause := time.NewTimer(statusPause)
		select {
		case <-pause.C:
			continue
		case <-ctx.Done():
			pause.Stop()
		}
		if last.service != nil || last.services != nil {
			_ = l.show(last) // the time-out is the error
		}
		return ended(ctx, ctx.Err())
	}
}

// show prints the view, and returns the exit status that it stands for. What the daemon
// wrote is printed with all its fields, known here or not.
func (l *looking) show(v view) error {
	if err := l.out.Print(l.Stdout, v.data(), v.text(l.out == commandline.Wide)); err != nil {
		return err
	}
	if !v.healthy() {
		return &exitError{code: ExitDifferent}
	}
	return nil
}

// view is what there is to show: one Service, or pools and Services, and what these know of
// a node or an address.
type view struct {
	service     *report.Document
	services    *report.Services
	explanation *report.Explanation
	// raw is the answer as the daemon wrote it, with fields that only a newer
	// one knows; nil where there was no daemon to ask.
	raw json.RawMessage
}

// head sums up the Service, or all of them.
func (v view) head() *report.Headline {
	if v.service != nil {
		return &v.service.Headline
	}
	return &v.services.Headline
}

// healthy reports whether nothing needs attention or, of a subject, whether it is ready.
func (v view) healthy() bool {
	if v.explanation != nil {
		return len(v.explanation.Services) > 0 && v.explanation.ReadyIn() == len(v.explanation.Services)
	}
	return v.head().Healthy
}

// progress is the headline, and what there is to wait for.
func (v view) progress() string {
	h := v.head()
	said := []string{h.Summary, h.Election.LeaderError, h.Standstill}
	if v.service != nil {
		said = append(said, serviceTroubles(v.service)...)
	} else {
		said = append(said, listTroubles(v.services)...)
	}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "; ")
}

// data is the answer as the daemon wrote it where it did, else as it is known here.
func (v view) data() any {
	switch {
	case v.raw != nil:
		return v.raw
	case v.explanation != nil:
		return v.explanation
	case v.service != nil:
		return v.service
	}
	return v.services
}

// text renders the view for people: one Service in full, and many in a table.
func (v view) text(wide bool) string {
	switch {
	case v.explanation != nil && v.service != nil:
		return explainedText(v.explanation, v.service)
	case v.explanation != nil:
		return explainedTable(v.explanation, v.services, wide)
	case v.service != nil:
		return serviceText(v.service, wide)
	}
	return listText(v.services, wide)
}
