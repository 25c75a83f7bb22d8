package preflight

import (
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// OfDocuments returns what there is to say of documents, in the folder and in the API
// server: a check for each mistake, for each that goes beyond what the installation opens,
// for each kind that the API server lacks, and for each object that does not count.
func OfDocuments(set documents.Set, places settings.Documents) []Check {
	if set.Variables {
		return nil
	}
	var checks []Check
	place := placeOf(places)
	for _, m := range set.Mistakes {
		subject := m.Place()
		if subject == "" {
			subject = place
		}
		checks = append(checks, DocumentsValid.fail(strings.TrimSpace(subject+" "+m.Subject()), "%s", m.Rule).remedied(m.Remedy))
	}
	if len(checks) == 0 {
		checks = append(checks, DocumentsValid.ok(place, "%s, %s", plural(len(set.Pools()), "pool"), plural(len(set.Bindings()), "binding")))
	}
	for _, e := range set.Entries {
		if what, remedy, found := strings.Cut(e.Note, ": "); found {
			checks = append(checks, DocumentsBounds.warn(e.Key.String(), "%s", what).remedied(remedy))
		}
	}
	for _, kind := range set.Missing {
		checks = append(checks, DocumentsKind.warn(kind, "the API server does not have the kind, so only files and annotations count"))
	}
	for _, e := range set.Shadowed {
		checks = append(checks, DocumentsKind.warn(e.Key.String(), "a file in DOCUMENTS_DIR has it too, and the file counts").remedied("remove the file or the object"))
	}
	return checks
}

// placeOf says where documents are looked for.
func placeOf(d settings.Documents) string {
	var places []string
	if d.Dir != "" {
		places = append(places, "DOCUMENTS_DIR="+d.Dir)
	}
	if d.API {
		places = append(places, "DOCUMENTS_API=true")
	}
	return strings.Join(places, " ")
}
