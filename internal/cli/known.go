package cli

import (
	"context"
	"time"

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
		check := report.CheckText((&parts{config: l.config}).check())
		return known{only: &report.Only{Document: v.document, Pool: variables.PoolName, Check: check}}, err
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
		Leader: true, DryRun: b.config.Run.DryRun, Version: b.version, Started: started,
	}}
}

// targets are the pools, and the Services of the scope.
func (k known) targets(s scope) *report.Targets {
	var all *report.Targets
	for {
		q := report.Query{Namespace: s.namespace, Limit: report.MaxLimit}
		if all != nil {
			q.Offset = len(all.Targets)
		}
		var t *report.Targets
		if k.many != nil {
			t = k.many.Targets(q)
		} else {
			t = k.only.Targets(q)
		}
		if all == nil {
			all = t
		} else {
			all.Targets = append(all.Targets, t.Targets...)
		}
		if len(t.Targets) == 0 || len(all.Targets) >= t.Total {
			return all
		}
	}
}

// target is the document of one Service.
func (k known) target(s scope) (*report.Document, error) {
	if k.many != nil {
		return k.many.Target(s.namespace, s.service)
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
