package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// diffCommand shows what one run would change.
func (p Program) diffCommand() *cobra.Command {
	var timeout time.Duration
	var out commandline.Format
	var s scope
	cmd := &cobra.Command{
		Use:   "diff [-n NAMESPACE [SERVICE] | -A]",
		Short: "Print what would change as a unified diff; exit status 1 if something would",
		Long: "Prints what one run would change in the slices, as a unified diff.\n\n" +
			"With STORE_KIND=memory there are no slices to compare with: every slice is shown\n" +
			"as created. Set STORE_KIND=client-go to compare with those of a cluster.\n\n" +
			"Where there are several Services, -n NAMESPACE SERVICE compares one, -n NAMESPACE\n" +
			"those of a namespace, and -A all.",
		Example: "  ionos-endpointslice-controller diff\n" +
			"  ionos-endpointslice-controller diff -n shop web\n" +
			"  ionos-endpointslice-controller diff -A",
		Args: s.takes(0),
		RunE: p.configured(&timeout, func(ctx context.Context, c settings.Config) error {
			if err := s.check(c); err != nil {
				return err
			}
			return p.diff(ctx, c, s, out)
		}),
	}
	scopeFlags(cmd, &s)
	timeoutFlag(cmd, &timeout)
	commandline.OutputFlag(cmd, &out)
	return cmd
}

// diffDocument are all differences, for -o json and yaml.
type diffDocument struct {
	APIVersion string       `json:"apiVersion"`
	Writes     []difference `json:"writes"`
}

// difference is one write.
type difference struct {
	Namespace string       `json:"namespace"`
	Service   string       `json:"service"`
	Pool      string       `json:"pool"`
	Operation string       `json:"operation"`
	Slice     string       `json:"slice"`
	Added     []netip.Addr `json:"added"`
	Removed   []netip.Addr `json:"removed"`
	Changed   []netip.Addr `json:"changed"`
	Diff      string       `json:"diff"`
}

// diff prints what one run would change in the slices of the Services in the scope.
func (p Program) diff(ctx context.Context, c settings.Config, s scope, out commandline.Format) error {
	b, a, err := p.assess(ctx, c)
	if err != nil {
		return err
	}
	if s.service != "" {
		if _, err := b.found(a, a.At).Service(s.namespace, s.service); err != nil {
			return commandline.Exit(ExitDifferent, err)
		}
	}
	a = s.of(a)
	e := judgeAll(a, true)
	if e.targets > 1 && s == (scope{}) {
		return commandline.Exit(ExitUsage, errNoScope("diff", ""))
	}
	for _, j := range e.wrong() { // what a run would say that the differences do not
		fmt.Fprintln(p.Stderr, plain(e.text(j)))
	}
	if c.Store.Kind == settings.StoreMemory {
		fmt.Fprintln(p.Stderr, "STORE_KIND=memory has no slices to compare with: shown are the slices that a daemon would make in an empty cluster. To compare with those of a cluster, set STORE_KIND=client-go.")
	}
	all, err := differences(a)
	if err != nil {
		return err
	}
	var asText strings.Builder
	for _, d := range all {
		asText.WriteString(d.Diff)
	}
	if err := out.Print(p.Stdout, diffDocument{report.APIVersion, all}, asText.String()); err != nil {
		return err
	}
	switch worst := e.worst(); {
	case worst == StoreFailed, worst == SourceFailed:
		return commandline.Exit(worst.status(), errors.New("not every Service could be compared: "+e.total()))
	case len(all) > 0:
		return commandline.Exit(ExitDifferent, nil)
	}
	return nil
}

// of returns what of an assessment is about the scope. Mistakes of documents and what
// could not be read may be about any Service.
func (s scope) of(a controller.Assessment) controller.Assessment {
	a.Assessed = slices.DeleteFunc(slices.Clone(a.Assessed), func(t *controller.AssessedTarget) bool { return !s.has(t.Key) })
	a.Plan.Refusals = slices.DeleteFunc(slices.Clone(a.Plan.Refusals), func(r assign.Refusal) bool { return !s.has(r.Key) })
	a.Plan.Lost = slices.DeleteFunc(slices.Clone(a.Plan.Lost), func(l assign.PublishedSlice) bool { return !s.has(l.Key) })
	return a
}

// differences describes the writes of an assessment.
func differences(a controller.Assessment) ([]difference, error) {
	all := []difference{}
	for _, t := range a.Assessed {
		for _, f := range t.Fills {
			for _, w := range f.Writes {
				diff, err := unified(f.Target, f.State.Slices, w)
				if err != nil {
					return nil, err
				}
				all = append(all, difference{
					Namespace: t.Namespace, Service: t.Service, Pool: f.Use.Pool,
					Operation: string(w.Operation), Slice: w.Slice.Name, Diff: diff,
					Added: append([]netip.Addr{}, w.Added...), Removed: append([]netip.Addr{}, w.Removed...), Changed: append([]netip.Addr{}, w.Changed...),
				})
			}
		}
	}
	return all, nil
}

// unified returns the write as a unified diff of the slice's YAML.
func unified(t publish.Target, current []publish.Slice, w publish.Write) (string, error) {
	name := t.Namespace + "/" + w.Slice.Name
	before, from := "", "/dev/null"
	for _, s := range current {
		if s.Name != w.Slice.Name {
			continue
		}
		rendered, err := render(t, s)
		if err != nil {
			return "", err
		}
		before, from = rendered, "current/"+name
	}
	after, err := render(t, w.Slice)
	if err != nil {
		return "", err
	}
	return udiff.Unified(from, "desired/"+name, before, after), nil
}

// render returns a slice as the YAML that would be written.
func render(t publish.Target, s publish.Slice) (string, error) {
	object := publish.Apply(nil, publish.Write{Operation: publish.Update, Slice: s}, t)
	object.ResourceVersion = ""
	rendered, err := publish.YAML(object)
	if err != nil {
		return "", fmt.Errorf("render slice %s: %w", s.Name, err)
	}
	return string(rendered), nil
}
