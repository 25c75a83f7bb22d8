package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/folder"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// documentsOf returns what a process that starts now would find in the folder.
func documentsOf(ctx context.Context, c settings.Config) documents.Set {
	if c.Documents.Dir == "" {
		return none()
	}
	return documents.Advance(documents.Set{}, readFolder(c, folder.Read)(ctx, c.Documents.Dir))
}

// readFolder reads a folder of documents. Only the memory store, which routes no traffic,
// accepts loopback addresses.
func readFolder(c settings.Config, read func(context.Context, string) documents.Folder) func(context.Context, string) documents.Folder {
	return func(ctx context.Context, dir string) documents.Folder {
		found := read(ctx, dir)
		found.Loopback = c.Store.Kind == settings.StoreMemory
		return found
	}
}

// documentsNow returns what a process that starts now would find in the folder and in the
// API server. That the API server cannot be asked is a mistake like others.
func documentsNow(ctx context.Context, c settings.Config, m *metrics.Metrics) documents.Set {
	objects := none()
	if c.Documents.API {
		if watcher, err := newKinds(c, m); err != nil {
			objects = documents.Set{Generation: 1, Mistakes: []documents.Mistake{{File: documents.APIServer, Rule: err.Error(), Remedy: "correct KUBECONFIG, or set DOCUMENTS_API=false"}}}
		} else {
			objects = watcher.Read(ctx)
		}
	}
	return documents.Join(documents.Set{}, documentsOf(ctx, c), objects)
}

// foundDocuments reports the mistakes of the documents where the variables name a folder of
// them, and says how many there are. It asks no server.
func foundDocuments(ctx context.Context, c settings.Config) (string, error) {
	if !c.Documents.Used() {
		return "", nil
	}
	set := documentsOf(ctx, c)
	if len(set.Mistakes) > 0 {
		return "", commandline.Exit(ExitUsage, documents.Mistakes(set.Mistakes))
	}
	found := ""
	if c.Documents.Dir != "" {
		found = fmt.Sprintf(", with %s and %s", plural(len(set.Pools()), "pool"), plural(len(set.Bindings()), "binding"))
		if c.Documents.API {
			found += " in files"
		}
	}
	if c.Documents.API {
		found += "; objects in the API server were not looked at: `check` does that"
	}
	return found, nil
}

// showHelp explains config show.
const showHelp = "Prints the effective values and where each comes from. Secrets are masked.\n\n" +
	"With -o documents, prints the variables as an EndpointPool and an EndpointBinding\n" +
	"with the same effect, and in comments the variables without a field. With DOCUMENTS_DIR,\n" +
	"prints the documents in files with their defaults; `kubectl get` prints those in the\n" +
	"API server. With DOCUMENTS_API=true, warns of each document that cannot move there."

// showDocuments prints the documents with their defaults, or those that decide what the
// variables do.
func (p Program) showDocuments(ctx context.Context, c settings.Config) error {
	if c.Documents.Used() {
		set := documentsOf(ctx, c)
		if c.Documents.API {
			fmt.Fprintln(p.Stderr, "Documents in files are printed; `kubectl get endpointpools,endpointbindings -A -o yaml` prints those in the API server.")
			p.warnOfMove(c, set)
		}
		return p.printDocuments(set)
	}
	text, err := environment.Text(c)
	if err != nil {
		return err
	}
	for _, d := range documents.Decode("the output", []byte(text)) {
		for _, m := range d.Mistakes { // variables allow a little more than documents
			p.warn(m)
		}
	}
	_, err = fmt.Fprint(p.Stdout, text)
	return err
}

// warnOfMove says which documents of the files cannot move to the API server, although
// what is printed is what kubectl applies there.
func (p Program) warnOfMove(c settings.Config, set documents.Set) {
	bounds := boundsOf(c.Documents)
	for _, e := range set.Entries {
		if !e.Usable() {
			continue // its mistakes are told
		}
		m, stays := bounds.Immovable(e)
		if !stays && e.Pool != nil && runsProgram(c, e.Pool) {
			m, stays = e.CannotMove("with spec.credentials="+e.Pool.Spec.Credentials+", whose kubeconfig runs a program",
				documents.KeepFile+", or put a token or a client certificate into the kubeconfig"), true
		}
		if stays {
			p.warn(m)
		}
	}
}

// runsProgram reports whether a pool is read with a kubeconfig that runs a program. It
// runs none.
func runsProgram(c settings.Config, pool *v1alpha1.EndpointPool) bool {
	if pool.Spec.Source.Kubernetes == nil && pool.Spec.Source.IONOS == nil {
		return false
	}
	path := accessIn(c, pool).kubeconfig
	if path == "" {
		return false
	}
	_, err := kube.Access{Kubeconfig: path, Setting: "spec.credentials", NoPrograms: true}.Config()
	return errors.Is(err, kube.ErrProgram)
}

// warn says on standard error what is wrong and ends nothing.
func (p Program) warn(err error) { fmt.Fprintln(p.Stderr, "warning:", plain(err.Error())) }

// printDocuments prints what is in effect, and on standard error what is not.
func (p Program) printDocuments(set documents.Set) error {
	for _, m := range set.Mistakes {
		p.warn(m)
	}
	between := ""
	for _, e := range set.Entries {
		if !e.Usable() {
			continue
		}
		var object any = e.Pool
		if e.Binding != nil {
			object = e.Binding
		}
		text, err := documents.YAML(object)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Key, err)
		}
		if _, err := fmt.Fprintf(p.Stdout, "%s# %s:%d\n%s", between, plain(e.File), e.Line, text); err != nil {
			return err
		}
		between = "---\n"
	}
	return nil
}

// carriers are where documents come from: a folder, the API server, or both.
type carriers struct {
	folder  *folder.Watcher    // nil without DOCUMENTS_DIR
	kinds   *apiserver.Watcher // nil without DOCUMENTS_API
	changed chan struct{}

	mu             sync.Mutex
	files, objects documents.Set
	set            documents.Set
}

// newCarriers makes what the configuration names.
func newCarriers(c settings.Config, m *metrics.Metrics) (*carriers, error) {
	out := &carriers{changed: make(chan struct{}, 1)}
	var err error
	if c.Documents.Dir != "" {
		out.folder = folder.New(c.Documents.Dir, readFolder(c, folder.Look))
	}
	if c.Documents.API {
		out.kinds, err = newKinds(c, m)
	}
	return out, err
}

func newKinds(c settings.Config, m *metrics.Metrics) (*apiserver.Watcher, error) {
	return apiserver.New(localWay(c.Store, m, metrics.ClientDocuments), boundsOf(c.Documents))
}

// boundsOf are the bounds of documents in the API server.
func boundsOf(d settings.Documents) documents.Bounds {
	return documents.Bounds{Subnets: prefixes(d.BoundSubnets), Namespaces: d.BoundNamespaces, Ports: settings.ParsePorts(d.BoundPorts...)}
}

// bounded are the namespaces of the bounds by name, none where these are all.
func bounded(d settings.Documents) []string {
	if slices.Contains(d.BoundNamespaces, "*") {
		return nil
	}
	return d.BoundNamespaces
}

// none is what a carrier that is not used says: it has nothing, and that is certain.
func none() documents.Set { return documents.Set{Generation: 1, Complete: true} }

// Set implements controller.Documents.
func (c *carriers) Set() documents.Set {
	files, listed := none(), none()
	if c.folder != nil {
		files = c.folder.Set()
	}
	if c.kinds != nil {
		listed = c.kinds.Set()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if files.Generation != c.files.Generation || listed.Generation != c.objects.Generation {
		c.files, c.objects = files, listed
		c.set = documents.Join(c.set, files, listed)
	}
	return c.set
}

// Changed implements controller.Documents.
func (c *carriers) Changed() <-chan struct{} { return c.changed }

// Run keeps the documents current until ctx ends.
func (c *carriers) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	follow := func(run func(context.Context) error, changed <-chan struct{}) {
		running.Go(func() { _ = run(ctx) }) // it only ends with its context
		running.Go(func() { pass(ctx, changed, c.changed) })
	}
	if c.folder != nil {
		follow(c.folder.Run, c.folder.Changed())
	}
	if c.kinds != nil {
		follow(c.kinds.Run, c.kinds.Changed())
	}
	return nil
}

// pass passes on that something changed, until ctx ends.
func pass(ctx context.Context, changed <-chan struct{}, to chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			kube.Signal(to)
		}
	}
}

// statusOptions say what becomes of documents in the API server, for their status.
func (b *parts) statusOptions() apiserver.StatusOptions {
	facts := b.facts(time.Now())
	options := apiserver.StatusOptions{
		Want: func() (all iter.Seq[apiserver.Status], busy bool) {
			statuses, busy := facts().Statuses()
			return func(yield func(apiserver.Status) bool) {
				statuses(func(s report.ObjectStatus) bool { return yield(apiserver.Status(s)) })
			}, busy
		},
		Revision: func() uint64 {
			revision := b.server.Revision() << 1
			if b.leader.state().Leading {
				revision++
			}
			return revision
		},
		Trouble: func(listed []apiserver.Failure) {
			if len(listed) == 0 {
				b.log.Info("the status of documents in the API server is written again")
				return
			}
			b.log.Warn("the status of documents in the API server is not written, everything else works; give this program the right to update endpointpools/status and endpointbindings/status, or let the admission policy or webhook that is named allow it",
				"objects", len(listed), "object", listed[0].Key.String(), "error", listed[0].Err)
		},
	}
	if b.leader.elector != nil {
		options.Fence = b.leader.elector.Fence
	}
	return options
}

// unwrittenObjects are those whose status is not written.
func (b *parts) unwrittenObjects() []apiserver.Failure {
	if b.carriers == nil || b.carriers.kinds == nil {
		return nil
	}
	return b.carriers.kinds.Unwritten()
}

// unwritten says of which objects the status is not written, and why; empty for none.
func (b *parts) unwritten() string {
	listed := b.unwrittenObjects()
	if len(listed) == 0 {
		return ""
	}
	text := fmt.Sprintf("The status of %s cannot be written: %v", listed[0].Key, listed[0].Err)
	if others := len(listed) - 1; others > 0 {
		text += ". The same is true of " + plural(others, "more object")
	}
	return text
}
