package cli

import (
	"context"
	"math"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// computeKnown looks at everything itself, and writes nothing.
func (l *looking) computeKnown(ctx context.Context) (known, error) {
	started := time.Now()
	b, a, err := l.assess(ctx, l.config)
	if err != nil {
		return known{}, err
	}
	for _, err := range a.Blind {
		l.say("Not everything is known: " + plain(err.Error()))
	}
	return known{b.found(a, started)}, nil
}

// known is what this command found out itself.
type known struct{ report.Process }

// targets are the pools, and the Services of the scope.
func (k known) targets(s scope) *report.Services {
	return k.Services(report.Query{Namespace: s.namespace, Limit: math.MaxInt})
}

// explain says what the Services of the scope know of a subject.
func (k known) explain(s scope, subject string) *report.Explanation {
	return k.Explain(subject, report.Query{Namespace: s.namespace, Limit: math.MaxInt})
}
