package cli

import (
	"context"
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

// lookup gets what status and explain show: from the daemon or, where none answers, by
// lookup itself.
type lookup struct {
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
func (l *lookup) flags(cmd *cobra.Command) {
	scopeFlags(cmd, &l.scope)
	cmd.Flags().BoolVar(&l.alone, "compute", false, "ask no daemon; read source and slices and check the endpoints now")
	timeoutFlag(cmd, &l.timeout)
	commandline.ChooseOutput(cmd, &l.out, commandline.Text, commandline.Wide, commandline.JSON, commandline.YAML)
}

// run shows what there is.
func (l *lookup) run(ctx context.Context, c settings.Config) error {
	l.config = c
	l.scope.listed(l.out)
	if err := l.scope.check(c); err != nil {
		return err
	}
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
func (l *lookup) say(message string) {
	if message != l.said {
		l.said = message
		fmt.Fprintln(l.Stderr, plain(message))
	}
}

// look asks the daemon or, where none answers or where it knows no nodes to explain, looks
// itself. With --wait and the store in memory it only asks: what is published is in the
// daemon and nowhere else.
func (l *lookup) look(ctx context.Context) (view, error) {
	if l.alone {
		return l.evaluate(ctx)
	}
	v, err := l.ask(ctx, daemon{l.config})
	var none *report.NoService
	var usage *commandline.ExitError
	instead := "The daemon knows no nodes"
	switch {
	case err == nil && (l.subject == "" || v.head().Decided && !v.head().StandsBy()), errors.As(err, &usage):
		return v, err
	case errors.As(err, &none) && l.config.Documents.Used():
		return v, commandline.Exit(ExitDifferent, err)
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
func (l *lookup) evaluate(ctx context.Context) (view, error) {
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
	services(context.Context, scope) (*report.Services, error)
	service(context.Context, scope) (*report.Document, error)
	explanation(ctx context.Context, s scope, subject string) (*report.Explanation, error)
}

// evaluation is what this command found out itself.
type evaluation struct{ report.Process }

func (e evaluation) services(_ context.Context, s scope) (*report.Services, error) {
	return e.Services(report.Query{Namespace: s.namespace, Limit: math.MaxInt}), nil
}

func (e evaluation) service(_ context.Context, s scope) (*report.Document, error) {
	d, err := e.Service(s.namespace, s.service)
	if err != nil {
		return nil, commandline.Exit(ExitDifferent, err)
	}
	return d, nil
}

func (e evaluation) explanation(_ context.Context, s scope, subject string) (*report.Explanation, error) {
	return e.Explain(subject, report.Query{Namespace: s.namespace, Limit: math.MaxInt}), nil
}

// ask asks for what the scope names, which is the only Service where it names nothing, and
// for what is known of the subject.
func (l *lookup) ask(ctx context.Context, of answerer) (v view, err error) {
	s := l.scope
	if s == (scope{}) {
		all, err := of.services(ctx, s)
		if err != nil {
			return v, err
		}
		if all.Known != 1 {
			return v, commandline.Exit(ExitUsage, errNoScope(l.command, l.needs))
		}
		s = scope{namespace: all.Services[0].Namespace, service: all.Services[0].Service}
	}
	switch {
	case s.many() && l.subject != "":
		v.explanation, err = of.explanation(ctx, s, l.subject)
	case s.many():
		v.services, err = of.services(ctx, s)
	default:
		v.service, err = of.service(ctx, s)
		if err == nil && l.subject != "" {
			v.explanation = v.service.Explain(l.subject)
		}
	}
	return v, err
}

// await looks until all is well, and says on stderr what is wrong whenever that changes. At
// the time-out it shows what it saw last.
func (l *lookup) await(ctx context.Context) error {
	var last view
	for {
		v, err := l.look(ctx)
		var usage *commandline.ExitError
		switch {
		case errors.As(err, &usage) && usage.Code == ExitUsage:
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
		select {
		case <-time.After(statusPause):
			continue
		case <-ctx.Done():
		}
		if last.service != nil || last.services != nil {
			_ = l.show(last) // the time-out is the error
		}
		return ended(ctx, ctx.Err())
	}
}

// show prints the view, and returns the exit status that it stands for.
func (l *lookup) show(v view) error {
	if err := l.out.Print(l.Stdout, v.data(), v.text(l.out == commandline.Wide)); err != nil {
		return err
	}
	if !v.healthy() {
		return commandline.Exit(ExitDifferent, nil)
	}
	return nil
}

// view is what there is to show: one Service, or pools and Services, and what these know of
// a node or an address.
type view struct {
	service     *report.Document
	services    *report.Services
	explanation *report.Explanation
}

// head is how the answer begins.
func (v view) head() *report.Head { return v.data().Beginning() }

// healthy reports whether nothing needs attention or, of a subject, whether it is ready.
func (v view) healthy() bool {
	switch {
	case v.explanation != nil:
		return len(v.explanation.Services) > 0 && v.explanation.ReadyIn() == len(v.explanation.Services)
	case v.service != nil:
		return v.service.Healthy
	}
	return v.services.Healthy
}

// progress is the headline, and what there is to wait for.
func (v view) progress() string {
	said := []string{"no decision yet, or it does not lead"}
	if v.service != nil {
		said = append([]string{v.service.Summary}, serviceTroubles(v.service)...)
	} else if v.services != nil {
		said = append([]string{v.services.Summary}, listTroubles(v.services)...)
	}
	said = append(said, v.head().Election.LeaderError, v.head().Standstill)
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "; ")
}

// data is the view for programs.
func (v view) data() interface{ Beginning() *report.Head } {
	switch {
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
		return explainedTable(v.explanation, wide)
	case v.service != nil:
		return serviceText(v.service, wide)
	}
	return listText(v.services, wide)
}

// statusPause is how often status --wait looks again.
const statusPause = time.Second

// statusCommand shows what the daemon last saw and decided.
func (p Program) statusCommand() *cobra.Command {
	l := &lookup{Program: p, command: "status"}
	cmd := &cobra.Command{
		Use:   "status [-n NAMESPACE [SERVICE] | -A]",
		Short: "Show what is published and why; exit status 1 if something is wrong",
		Long: "Asks the daemon that runs with this configuration, at ADMIN_ADDRESS, what it last\n" +
			"saw and decided. If no daemon answers, the command reads source and slices and\n" +
			"checks the endpoints itself, writes nothing, and says so.\n\n" +
			"Exit status: 0 if the document says healthy, as the status page does: every node\n" +
			"that should be published is ready, the source can be read, all is written, and\n" +
			"nothing else needs attention. A daemon that stands by answers with the document of\n" +
			"the leader. 1 if not healthy, or if no leader answers. With --wait the command\n" +
			"repeats until the exit status is 0.\n\n" +
			"Without an argument it is about the only Service. Where there are several,\n" +
			"-n NAMESPACE SERVICE shows one of them, and -A the pools and all Services, the worst\n" +
			"first; -n NAMESPACE those of a namespace. Healthy then means that every pool and\n" +
			"every Service is. As json and yaml it is -A unless a Service is named.",
		Example: "  ionos-endpointslice-controller status\n" +
			"  ionos-endpointslice-controller status -n shop web\n" +
			"  ionos-endpointslice-controller status -A -o wide",
		Args: l.scope.takes(0),
		RunE: p.configured(&l.timeout, l.run),
	}
	l.flags(cmd)
	cmd.Flags().BoolVar(&l.wait, "wait", false, "wait until the exit status is 0")
	return cmd
}

// explainCommand answers why a node or an address is, or is not, in a slice.
func (p Program) explainCommand() *cobra.Command {
	l := &lookup{Program: p, command: "explain", needs: "NODE|IP"}
	cmd := &cobra.Command{
		Use:   "explain [-n NAMESPACE [SERVICE] | -A] NODE|IP",
		Short: "Say why a node or an address is in a slice or not; exit status 1 if it is not ready",
		Long: "Shows what each stage decided on a node, by its name or id, or on an address, with\n" +
			"the actual values, and what to do.\n\n" +
			"Asks the daemon that runs with this configuration, at ADMIN_ADDRESS: it knows how\n" +
			"often checks passed or failed, which endpoints are kept or drain, and what left\n" +
			"within ten minutes. A daemon that stands by answers with what the leader knows. If\n" +
			"no daemon or no leader answers, the command reads source and slices and checks the\n" +
			"endpoints itself, writes nothing, and says so.\n\n" +
			"Without -n and -A it asks for the only Service. Where there are several,\n" +
			"-n NAMESPACE SERVICE asks for one of them, and -A says it for every Service;\n" +
			"-n NAMESPACE for those of a namespace. Exit status 0 means that each Service that\n" +
			"knows the node or address publishes it ready. As json and yaml it is -A unless a\n" +
			"Service is named, and a list in any case.",
		Example: "  ionos-endpointslice-controller explain worker-1\n" +
			"  ionos-endpointslice-controller explain -n shop web 10.0.0.12\n" +
			"  ionos-endpointslice-controller explain -A 10.0.0.12",
		Args: l.scope.takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l.subject = args[len(args)-1]
			return p.configured(&l.timeout, l.run)(cmd, nil)
		},
	}
	l.flags(cmd)
	return cmd
}
