package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/folder"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
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
func documentsNow(ctx context.Context, c settings.Config) documents.Set {
	objects, err := objectsOf(ctx, c, nil)
	if err != nil {
		objects = documents.Set{Generation: 1, Mistakes: []documents.Mistake{{File: documents.APIServer, Rule: err.Error(), Remedy: "correct KUBECONFIG, or set DOCUMENTS_API=false"}}}
	}
	return documents.Join(documents.Set{}, documentsOf(ctx, c), objects)
}

// objectsOf reads the documents of the API server once, where there are to be any.
func objectsOf(ctx context.Context, c settings.Config, m *metrics.Metrics) (documents.Set, error) {
	if !c.Documents.API {
		return none(), nil
	}
	watcher, err := newKinds(c, m)
	if err != nil {
		return documents.Set{}, err
	}
	return watcher.Read(ctx), nil
}

// foundDocuments reports the mistakes of the documents where the variables name a folder of
// them, and says how many there are. It asks no server.
func foundDocuments(ctx context.Context, c settings.Config) (string, error) {
	if !c.Documents.Used() {
		return "", nil
	}
	set := documentsOf(ctx, c)
	if len(set.Mistakes) > 0 {
		return "", &exitError{ExitUsage, documents.Mistakes(set.Mistakes)}
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
	"that decide the same; what has no field is in comments. With DOCUMENTS_DIR, prints\n" +
	"the documents with their defaults; those in the API server `kubectl get` prints. With\n" +
	"DOCUMENTS_API=true, warns of each document that cannot move there."

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
			fmt.Fprintln(p.Stderr, "warning:", m.Error())
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
			fmt.Fprintln(p.Stderr, "warning:", m.Error())
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

// printDocuments prints what is in effect, and on standard error what is not.
func (p Program) printDocuments(set documents.Set) error {
	for _, m := range set.Mistakes {
		fmt.Fprintln(p.Stderr, "warning:", m.Error())
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
		if _, err := fmt.Fprintf(p.Stdout, "%s# %s:%d\n%s", between, e.File, e.Line, text); err != nil {
			return err
		}
		between = "---\n"
	}
	return nil
}
