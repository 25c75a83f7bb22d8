package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
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
			"With DOCUMENTS_DIR, -n NAMESPACE SERVICE compares one Service, -n NAMESPACE those\n" +
			"of a namespace, and -A all.",
		Example: "  ionos-endpointslice-controller diff\n" +
			"  ionos-endpointslice-controller diff -n shop web\n" +
			"  ionos-endpointslice-controller diff -A",
		Args: s.takes(nil),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load()
			if err == nil {
				err = s.check(c, "diff", "")
			}
			if err != nil {
				return err
			}
			if c.Documents.Used() {
				ctx, cancel := within(cmd.Context(), timeout)
				defer cancel()
				return p.diffMany(ctx, c, s, out)
			}
			return p.once(cmd, timeout, func(ctx context.Context, b *parts) error { return b.diff(ctx, p, out) })
		},
	}
	scopeFlags(cmd, &s)
	timeoutFlag(cmd, &timeout)
	commandline.OutputFlag(cmd, &out)
	return cmd
}

// differing are all of them, for -o json and yaml.
type differing struct {
	APIVersion string       `json:"apiVersion"`
	Writes     []difference `json:"writes"`
}

// difference is one write.
type difference struct {
	// Namespace, Service and Pool are given where there may be many.
	Namespace string   `json:"namespace,omitempty"`
	Service   string   `json:"service,omitempty"`
	Pool      string   `json:"pool,omitempty"`
	Operation string   `json:"operation"`
	Slice     string   `json:"slice"`
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
	Changed   []string `json:"changed"`
	Diff      string   `json:"diff"`
}

// diff assesses and prints the writes.
func (b *parts) diff(ctx context.Context, p Program, out commandline.Format) error {
	a, err := b.syncer.Assess(ctx)
	if err != nil {
		return err
	}
	// What a run would say that the differences do not.
	if outcome, message := judge(a, true); outcome.status() != ExitOK {
		fmt.Fprintln(p.Stderr, b.target.Names.Of(message))
	}
	p.sayEmpty(b.config)
	all, err := differences(b.target, a.State.Slices, a.Writes)
	if err != nil {
		return err
	}
	var asText strings.Builder
	for _, d := range all {
		asText.WriteString(d.Diff)
	}
	if err := out.Print(p.Stdout, differing{report.APIVersion, all}, asText.String()); err != nil {
		return err
	}
	if len(a.Writes) > 0 {
		return &exitError{code: ExitDifferent}
	}
	return nil
}

// sayEmpty says that a store has nothing to compare with.
func (p Program) sayEmpty(c config.Config) {
	if c.Store.Kind == config.StoreMemory {
		fmt.Fprintln(p.Stderr, "STORE_KIND=memory has no slices to compare with: shown are the slices that a daemon would make in an empty cluster. To compare with those of a cluster, set STORE_KIND=client-go.")
	}
}

// differences describes writes.
func differences(t plan.Target, current []plan.Slice, writes []plan.Write) ([]difference, error) {
	all := make([]difference, 0, len(writes))
	for _, w := range writes {
		diff, err := unified(t, current, w)
		if err != nil {
			return nil, err
		}
		all = append(all, difference{
			Operation: string(w.Operation), Slice: w.Slice.Name, Diff: diff,
			Added: words(w.Added), Removed: words(w.Removed), Changed: words(w.Changed),
		})
	}
	return all, nil
}

// unified returns the write as a unified diff of the slice's YAML.
func unified(t plan.Target, current []plan.Slice, w plan.Write) (string, error) {
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
func render(t plan.Target, s plan.Slice) (string, error) {
	object := manifest.Apply(nil, plan.Write{Operation: plan.Update, Slice: s}, t)
	object.ResourceVersion = ""
	rendered, err := manifest.YAML(object)
	if err != nil {
		return "", fmt.Errorf("render slice %s: %w", s.Name, err)
	}
	return string(rendered), nil
}

// words spells values.
func words[T fmt.Stringer](values []T) []string {
	spelled := make([]string, len(values))
	for i, v := range values {
		spelled[i] = v.String()
	}
	return spelled
}
