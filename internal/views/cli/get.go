package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// getFlags is what get was asked for.
type getFlags struct {
	Program

	namespace                   string
	all, watch, gather, ready   bool
	service                     string
	form                        commandline.Format
	timeout                     time.Duration
	server                      string
	tokenFile, certificate, key string
	authority                   string
}

// feed is where views come from: a server, or a join that is made here.
type feed interface {
	// list returns the objects as JSON.
	list(ctx context.Context) ([]json.RawMessage, error)
	// watch gives each event to take until ctx ends.
	watch(ctx context.Context, take func(views.EventType, []byte) error) error
}

// getCommand shows views.
func (p Program) getCommand() *cobra.Command {
	a := &getFlags{Program: p}
	cmd := &cobra.Command{
		Use:   "get [SERVICE]",
		Short: "Show the endpoints behind each Service and port, and with --watch every change",
		Long: "Shows the views of one namespace (-n, default) or of all (-A). Joins the objects\n" +
			"that the kubeconfig can read; with --server asks a running endpoint-views. When a\n" +
			"stream of a server ends, a watch asks again and goes on from there. A change of\n" +
			"several endpoints is several lines; with --gather each line is a whole port.\n\n" +
			"Exit status 1 if there is nothing to show.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%d Services to get: give one, or none for all", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.service = strings.Join(args, "")
			return a.get(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&a.namespace, "namespace", "n", "default", "namespace to look into")
	flags.BoolVarP(&a.all, "all-namespaces", "A", false, "look into all namespaces")
	flags.BoolVarP(&a.watch, "watch", "w", false, "go on and show every change")
	flags.BoolVar(&a.gather, "gather", false, "one line for each port of each Service")
	flags.BoolVar(&a.ready, "ready", false, "only endpoints that may be sent new connections")
	commandline.ChooseOutput(cmd, &a.form, commandline.Text, commandline.Wide, commandline.JSON, commandline.YAML, formName)
	flags.DurationVar(&a.timeout, "timeout", 30*time.Second, "give up after this time without an answer")
	a.serverFlags(flags)
	return cmd
}

// serverFlags are those that say which running endpoint-views is asked, and how.
func (a *getFlags) serverFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.server, "server", "", "address of a running endpoint-views, such as https://endpoint-views:8443")
	flags.StringVar(&a.tokenFile, "token-file", "", "with --server: file with the token of this client")
	flags.StringVar(&a.certificate, "certificate", "", "with --server: file with the client's certificate")
	flags.StringVar(&a.key, "key", "", "with --server: file with its key")
	flags.StringVar(&a.authority, "ca", "", "with --server: file with the authority of the server's certificate")
}

// get shows a list, or everything that comes.
func (a *getFlags) get(ctx context.Context) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	if a.server != "" {
		from, err := newRemote(a)
		if err != nil {
			return err
		}
		return a.show(ctx, from)
	}
	return a.locally(ctx, c)
}

// locally shows what is joined here meanwhile.
func (a *getFlags) locally(ctx context.Context, c settings.Views) error {
	var namespaces []string
	if !a.all {
		namespaces = []string{a.namespace}
	}
	source, err := a.source(c, a.way(c, true), namespaces)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		source.Run(watching)
	}()
	defer func() { stop(); <-ended }()
	if err := a.await(ctx, source.Cache(), source.Trouble); err != nil {
		return err
	}
	return a.show(ctx, &localJoin{source.Cache(), cache.Selection{
		Gather: a.gather, Ready: a.ready, Service: a.service,
		Namespace: func(namespace string) bool { return a.all || namespace == a.namespace },
	}})
}

// await waits for the first join.
func (a *getFlags) await(ctx context.Context, views *cache.Cache, trouble func() error) error {
	late := time.After(a.timeout)
	for {
		moved := views.Moved()
		if views.Synced() {
			return nil
		}
		select {
		case <-moved:
		case <-late:
			return commandline.Exit(exitFailed, errors.Join(fmt.Errorf("the API server has not sent everything within %v; give it more time by --timeout", a.timeout), trouble()))
		case <-ctx.Done():
			return commandline.Exit(exitFailed, errors.Join(errors.New("stopped by a signal before it was done"), trouble()))
		}
	}
}

// show prints what a feed gives.
func (a *getFlags) show(ctx context.Context, from feed) error {
	out := &printer{out: a.Stdout, table: tabwriter.NewWriter(a.Stdout, 0, 0, 3, ' ', 0), form: a.form, gather: a.gather, namespaced: a.all, watch: a.watch}
	if a.watch {
		err := from.watch(ctx, out.event)
		if ctx.Err() != nil {
			return nil // it was told to stop, which is how a watch ends
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	objects, err := from.list(ctx)
	if err != nil {
		return commandline.Exit(exitFailed, err)
	}
	if err := out.list(objects); err != nil {
		return err
	}
	if len(objects) == 0 {
		if a.form == commandline.Text || a.form == commandline.Wide {
			fmt.Fprintf(a.Stderr, "No endpoints %s. A Service is shown that has the annotation %s: \"true\" (VIEWS_ANNOTATION).\n", a.where("in", a.all), settings.OwnAnnotation)
		}
		return commandline.Exit(exitNothing, nil)
	}
	return nil
}

// where is the namespace, or any, after the word in or of.
func (a *getFlags) where(word string, every bool) string {
	if every {
		return word + " any namespace"
	}
	return word + " namespace " + a.namespace
}

// localJoin is a join that is made here.
type localJoin struct {
	cache     *cache.Cache
	selection cache.Selection
}

func (j *localJoin) list(context.Context) ([]json.RawMessage, error) {
	events, _, err := j.cache.List(j.selection)
	objects := make([]json.RawMessage, 0, len(events))
	for _, e := range events {
		objects = append(objects, e.Object())
	}
	return objects, err
}

func (j *localJoin) watch(ctx context.Context, take func(views.EventType, []byte) error) error {
	reader, err := j.cache.Read(j.selection, "")
	for err == nil {
		var batch cache.Batch
		if batch, err = reader.Next(); err != nil {
			break
		}
		for _, e := range batch.Events {
			if err := take(e.Type, e.Object()); err != nil {
				return err
			}
		}
		if batch.Changed == nil {
			continue
		}
		select {
		case <-batch.Changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return commandline.Exit(exitFailed, err)
}
