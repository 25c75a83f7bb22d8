package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// DecidedBy is a document whose fields the messages of a target name.
type DecidedBy struct {
	// Kind is EndpointBinding, EndpointPool, or Service for its annotations. Namespace is
	// left out for a pool.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Place is file and line, or "API server".
	Place string `json:"place"`
}

// String returns "EndpointBinding shop/web (API server)".
func (d DecidedBy) String() string {
	name := d.Name
	if d.Namespace != "" {
		name = d.Namespace + "/" + name
	}
	return strings.TrimSpace(d.Kind+" "+name) + " (" + d.Place + ")"
}

// decidedBy are the documents of a target: what asks for the pools, and the pools.
func (s *survey) decidedBy(t *assign.Assignment) []DecidedBy {
	of := []DecidedBy{{"Service", t.Namespace, t.Service, documents.APIServer}}
	if e, bound := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: t.Namespace, Name: t.Service}); bound {
		of[0] = decided(e)
	}
	for _, u := range t.Uses {
		e, there := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointPool, Name: u.Pool})
		if there && !slices.Contains(of, decided(e)) {
			of = append(of, decided(e))
		}
	}
	return of
}

// OfVariables reports whether texts leave the name of the pool out: variables say what is
// filled, or it is not known yet.
func (d *Document) OfVariables() bool { return d.Service.Spelling == naming.Variables }

// Names is how texts that are added to the document name settings. Where the pool is
// empty they are those of the whole document.
func (d *Document) Names(pool string) naming.Names {
	if d.OfVariables() {
		return naming.Names{}
	}
	names := naming.Names{Spelling: d.Service.Spelling, Target: d.Service.Namespace + "/" + d.Service.Name}
	for _, p := range d.Pools {
		if len(d.Pools) == 1 || p.Name == cmp.Or(pool, d.Pool) {
			names.Pool, names.CheckBy = p.Name, p.HealthCheckBy
		}
	}
	return names
}

func decided(e documents.Entry) DecidedBy {
	place := documents.Mistake{File: e.File, Line: e.Line}.Place()
	return DecidedBy{e.Key.Kind, e.Key.Namespace, e.Key.Name, place}
}
