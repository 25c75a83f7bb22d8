package cli

import (
	"context"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents/variables"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
)

// known is what this command found out itself: of many Services, or of the only one.
type known struct {
	many *report.Many
	only *report.Only
}

// computeKnown looks at everything itself, and writes nothing.
func (l *looking) computeKnown(ctx context.Context) (known, error) {
	if !l.config.Documents.Used() {
		v, err := l.compute(ctx)
		_, _, check := carried(l.config)
		return known{only: &report.Only{Document: v.document, Pool: variables.PoolName, HealthCheck: report.CheckText(check)}}, err
	}
	started := time.Now()
	b, a, err := l.assessMany(ctx, l.config)
	if err != nil {
		return known{}, err
	}
	for _, err := range a.Unread {
		l.say("Not everything is known: " + plain(err.Error()))
	}
	return knownOf(b, a, started), nil
}

// knownOf is what an assessment found out.
func knownOf(b *many, a serve.Assessment, started time.Time) known {
	return known{many: &report.Many{
		Now: time.Now(), Snapshot: a.Snapshot(), StoreKind: string(b.config.Store.Kind),
		Leader: true, DryRun: b.config.Run.DryRun || b.config.Store.Kind == config.StoreMemory, Version: b.version, Started: started,
	}}
}

// targets are the pools, and the Services of the scope.
func (k known) targets(s scope) *report.Services {
	var all *report.Services
	for {
		q := report.Query{Namespace: s.namespace, Limit: report.MaxLimit}
		if all != nil {
			q.Offset = len(all.Services)
		}
		var t *report.Services
		if k.many != nil {
			t = k.many.Services(q)
		} else {
			t = k.only.Services(q)
		}
		if all == nil {
			all = t
		} else {
			all.Services = append(all.Services, t.Services...)
		}
		if len(t.Services) == 0 || len(all.Services) >= t.Total {
			return all
		}
	}
}

// target is the document of one Service.
func (k known) target(s scope) (*report.Document, error) {
	if k.many != nil {
		return k.many.Service(s.namespace, s.service)
	}
	return k.only.Document, nil
}

// explain says what the Services of the scope know of a subject.
func (k known) explain(s scope, subject string) *report.Explanation {
	q := report.Query{Namespace: s.namespace, Limit: report.MaxLimit}
	if k.many != nil {
		return k.many.Explain(subject, q)
	}
	return k.only.Explain(subject, q)
}
