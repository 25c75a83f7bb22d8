package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// statusPause is how often status --wait looks again.
const statusPause = time.Second

// looking gets the document for the commands that show it.
type looking struct {
	Program
	config settings.Config
	scope  scope
	// command is the command, and subject what it needs beside a Service.
	command, subject string
	// alone says not to ask a daemon.
	alone bool
	// said is the last message on stderr; each is given once.
	said string
}

// statusCommand shows what the daemon last saw and decided.
func (p Program) statusCommand() *cobra.Command {
	l := &looking{Program: p, command: "status"}
	var wait bool
	var timeout time.Duration
	var out commandline.Format
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
		Args: l.scope.takes(nil),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l.scope.listed(out)
			if err := l.load(); err != nil {
				return err
			}
			ctx, cancel := within(cmd.Context(), timeout)
			defer cancel()
			if !wait {
				v, err := l.look(ctx)
				if err != nil {
					return ended(ctx, err)
				}
				return l.show(v, out)
			}
			return l.await(ctx, out)
		},
	}
	scopeFlags(cmd, &l.scope)
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the exit status is 0")
	computeFlag(cmd, &l.alone)
	timeoutFlag(cmd, &timeout)
	commandline.ChooseOutput(cmd, &out, commandline.Text, commandline.Wide, commandline.JSON, commandline.YAML)
	return cmd
}

// computeFlag adds --compute to a command.
func computeFlag(cmd *cobra.Command, alone *bool) {
	cmd.Flags().BoolVar(alone, "compute", false, "ask no daemon; read source and slices and check the endpoints now")
}

// load reads the configuration, and holds the scope against it.
func (l *looking) load() (err error) {
	if l.config, err = l.Program.load(); err == nil {
		err = l.scope.check(l.config)
	}
	return err
}

// say writes a message on stderr unless it was the last.
func (l *looking) say(message string) {
	if message != l.said {
		l.said = message
		fmt.Fprintln(l.Stderr, message)
	}
}

// look asks the daemon or, where none answers, computes.
func (l *looking) look(ctx context.Context) (shown, error) {
	if !l.alone {
		v, err := l.ask(ctx)
		var none *report.NoService
		var usage *exitError
		switch {
		case err == nil, errors.As(err, &usage):
			return v, err
		case errors.As(err, &none) && l.config.Documents.Used():
			return shown{}, &exitError{ExitDifferent, err}
		case ctx.Err() != nil:
			return shown{}, ctx.Err()
		}
		l.say("No answer from the daemon: " + err.Error() + "; evaluating locally instead.")
	}
	return l.evaluate(ctx)
}

// ask asks the daemon for what the scope names.
func (l *looking) ask(ctx context.Context) (shown, error) {
	of := l.scope
	if of.many() || of == (scope{}) {
		v, err := askTargets(ctx, l.config, l.scope)
		if err != nil || of.many() {
			return v, err
		}
		if of, err = l.only(v.targets); err != nil {
			return shown{}, err
		}
	}
	return askTarget(ctx, l.config, of)
}

// only is the only Service, where the command names none.
func (l *looking) only(all *report.Services) (scope, error) {
	if all.Known != 1 {
		return scope{}, &exitError{ExitUsage, errNoScope(l.command, l.subject)}
	}
	return scope{namespace: all.Services[0].Namespace, service: all.Services[0].Service}, nil
}

// evaluate finds out without a daemon what the scope names.
func (l *looking) evaluate(ctx context.Context) (shown, error) {
	k, err := l.computeKnown(ctx)
	switch {
	case err != nil:
		return shown{}, err
	case l.scope.many():
		return shown{targets: k.targets(l.scope)}, nil
	}
	of := l.scope
	if of == (scope{}) {
		if of, err = l.only(k.targets(of)); err != nil {
			return shown{}, err
		}
	}
	d, err := k.Service(of.namespace, of.service)
	if err != nil {
		return shown{}, &exitError{ExitDifferent, err}
	}
	return shown{document: d}, nil
}

// await repeats until the document says healthy, and says on stderr what is wrong
// whenever that changes. At the time-out it shows the last document.
func (l *looking) await(ctx context.Context, out commandline.Format) error {
	var last shown
	for {
		v, err := l.lookAgain(ctx)
		var usage *exitError
		switch {
		case errors.As(err, &usage) && usage.code == ExitUsage:
			return err
		case err == nil && v.healthy():
			return l.show(v, out)
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
		if last.document != nil || last.targets != nil {
			_ = l.show(last, out) // the time-out is the error
		}
		return ended(ctx, ctx.Err())
	}
}

// lookAgain looks again. With the store in memory it only asks the daemon: what is
// published is in that process and nowhere else.
func (l *looking) lookAgain(ctx context.Context) (shown, error) {
	if !l.alone && l.config.Store.Kind == settings.StoreMemory {
		return l.ask(ctx)
	}
	if !l.alone {
		v, err := l.ask(ctx)
		var usage *exitError
		if err == nil || errors.As(err, &usage) {
			return v, err
		}
	}
	return l.evaluate(ctx)
}

// standsBy reports whether the document is of a standby that has none of the leader,
// and knows no nodes.
func standsBy(d *report.Document) bool { return d.Election.Enabled && !d.Leader }

// progress is the headline and what else there is to wait for.
func progress(d *report.Document) string {
	switch {
	case d.Election.LeaderError != "":
		return d.Summary + ": " + d.Election.LeaderError
	case d.Standstill != "":
		return d.Summary + "; the daemon stands still: " + d.Standstill
	case d.Problem != nil:
		return d.Summary + ": " + d.Problem.Message
	case d.Store.LastError != "":
		return d.Summary + "; the store fails: " + d.Store.LastError
	case d.Store.PendingSlices > 0 && !d.DryRun:
		return fmt.Sprintf("%s; %d slices are not written yet", d.Summary, d.Store.PendingSlices)
	case d.Source.LastError != "":
		return d.Summary + "; the source fails: " + d.Source.LastError
	case d.Decided && d.Source.LastSuccess.IsZero():
		return d.Summary + "; the source was not read yet"
	}
	return strings.Join(append([]string{d.Summary}, oddities(d)...), "; ")
}

// show prints the view, and returns the exit status that it stands for.
func (l *looking) show(v shown, out commandline.Format) error {
	if err := l.print(v, out); err != nil {
		return err
	}
	if !v.healthy() {
		return &exitError{code: ExitDifferent}
	}
	return nil
}

// print prints the view. What the daemon wrote is printed with all its fields,
// known here or not.
func (l *looking) print(v shown, out commandline.Format) error {
	return out.Print(l.Stdout, v.data(), v.text(out == commandline.Wide))
}

// healthy reports whether nothing needs attention.
func (v shown) healthy() bool {
	if v.targets != nil {
		return v.targets.Healthy
	}
	return v.document.Healthy
}

// progress says what there is to wait for.
func (v shown) progress() string {
	if v.targets != nil {
		return strings.Join(append([]string{v.targets.Summary}, manyBanners(v.targets)...), "; ")
	}
	return progress(v.document)
}

// data is the document as the daemon wrote it where it did, else as it is known here.
func (v shown) data() any {
	switch {
	case v.raw != nil:
		return v.raw
	case v.targets != nil:
		return v.targets
	}
	return v.document
}

// text renders the view for people.
func (v shown) text(all bool) string {
	if v.targets != nil {
		return targetsText(v.targets, all)
	}
	return statusText(v.document, all)
}
