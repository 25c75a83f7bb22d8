package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
)

// diffMany prints what one run would change in the slices of the Services in the scope.
func (p Program) diffMany(ctx context.Context, c config.Config, s scope, out commandline.Format) error {
	b, a, err := p.assessMany(ctx, c)
	if err != nil {
		return err
	}
	if s.service != "" {
		if _, err := knownOf(b, a, a.At).target(s); err != nil {
			return &exitError{ExitDifferent, err}
		}
	}
	a = s.of(a)
	e := judgeMany(a, true)
	for _, j := range e.wrong() { // what a run would say that the differences do not
		fmt.Fprintln(p.Stderr, j)
	}
	p.sayEmpty(c)
	all := []difference{}
	var asText strings.Builder
	for _, t := range a.Targets {
		for _, f := range t.Fills {
			some, err := differences(f.Target, f.State.Slices, f.Writes)
			if err != nil {
				return err
			}
			for _, d := range some {
				d.Namespace, d.Service, d.Pool = t.Namespace, t.Service, f.Use.Pool
				asText.WriteString(d.Diff)
				all = append(all, d)
			}
		}
	}
	if err := out.Print(p.Stdout, differing{report.APIVersion, all}, asText.String()); err != nil {
		return err
	}
	switch worst := e.worst(); {
	case worst == StoreFailed, worst == SourceFailed:
		return &exitError{worst.status(), errors.New("not every Service could be compared: " + e.total())}
	case len(all) > 0:
		return &exitError{code: ExitDifferent}
	}
	return nil
}

// of returns what of an assessment is about the scope. Mistakes of documents and what
// could not be read may be about any Service.
func (s scope) of(a serve.Assessment) serve.Assessment {
	a.Targets = slices.DeleteFunc(slices.Clone(a.Targets), func(t *serve.AssessedTarget) bool { return !s.has(t.Key) })
	a.Plan.Refusals = slices.DeleteFunc(slices.Clone(a.Plan.Refusals), func(r resolve.Refusal) bool { return !s.has(r.Key) })
	a.Plan.Lost = slices.DeleteFunc(slices.Clone(a.Plan.Lost), func(l resolve.Published) bool { return !s.has(l.Key) })
	return a
}
