package preflight

import (
	"cmp"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// judgeDocuments returns what there is to say of documents, in the folder and in the API
// server: a check for each mistake, for each that goes beyond what the installation opens,
// for each kind that the API server lacks, and for each object that does not count.
func judgeDocuments(set documents.Set) []Check {
	if set.Variables {
		return nil
	}
	var checks []Check
	for _, m := range set.Mistakes {
		subject := cmp.Or(strings.TrimSpace(m.Place()+" "+m.Subject()), "documents")
		checks = append(checks, DocumentsValid.fail(subject, "%s", m.Rule).remedied(m.Remedy))
	}
	if len(checks) == 0 {
		checks = append(checks, DocumentsValid.ok("documents", "%s, %s", plural(len(set.Pools()), "pool"), plural(len(set.Bindings()), "binding")))
	}
	for _, e := range set.Entries {
		if what, remedy, found := strings.Cut(e.Note, ": "); found {
			checks = append(checks, DocumentsValid.warn(e.Key.String(), "%s", what).remedied(remedy))
		}
	}
	for _, kind := range set.Missing {
		checks = append(checks, DocumentsValid.warn(kind, "the API server does not have the kind, so only files and annotations count").
			remedied("kubectl apply -f deploy/crds, or crds.create=true of the chart"))
	}
	for _, e := range set.Shadowed {
		checks = append(checks, DocumentsValid.warn(e.Key.String(), "a file in DOCUMENTS_DIR has it too, and the file counts").remedied("remove the file or the object"))
	}
	return checks
}
