package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

func FuzzCommandArgs(f *testing.F) {
	for _, seed := range []string{
		`a 'b c' "d e" f\ g`, `$HOME`, "`id`", `$(id)`, `$((1))`, `<(id)`, `a|b`, `a;b`, `a>b`, `a #b`, `'`, `"`, `\`, "a\\\nb", `$'a'`, "\x00", "a\r\nb",
		`{a,b}`, `"a\"b\\c\d"`, `a=(b)`, `@(a)`, `!`, "\xff", `"\`, "if for", `[[ a`, `((`, `a\`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		args, err := settings.Args(value)
		if err != nil {
			return
		}
		// No letter is lost or invented but quotes, backslashes and space.
		strip := strings.NewReplacer("'", "", `"`, "", `\`, "", " ", "", "\t", "", "\n", "").Replace
		if got, want := strip(strings.Join(args, " ")), strip(value); got != want {
			t.Fatalf("%q was split into %q: some of it is lost", value, args)
		}
	})
}

// FuzzLoad feeds whole environments, one variable a line. What is accepted must
// be usable as it stands, print no secret, and load again from what it prints.
func FuzzLoad(f *testing.F) {
	for _, bad := range badValues() {
		f.Add(strings.Join(with(env{bad.variable: bad.value}).list(), "\n"))
	}
	for _, bad := range contradictions() {
		f.Add(strings.Join(with(bad.env).list(), "\n"))
	}
	f.Fuzz(func(t *testing.T, environ string) {
		lines := append([]string{"IONOS_TOKEN=" + canary}, strings.Split(environ, "\n")...)
		c, err := environment.Load(lines)
		if err != nil {
			if strings.Contains(environ, canary) {
				return
			}
			if strings.Contains(err.Error(), canary) {
				t.Fatalf("the error shows a secret: %v", err)
			}
			return
		}
		checkUsable(t, c)
		again := env{}
		for _, s := range c.Describe() {
			if s.Origin == settings.FromEnvironment && !s.Secret {
				again[s.Variable] = s.Value
			}
		}
		if diff := cmp.Diff(c, load(t, again), opts); diff != "" {
			t.Fatalf("what it prints loads as something else:\n%s", diff)
		}
	})
}

// checkUsable demands what every later package takes for granted.
func checkUsable(t *testing.T, c settings.Config) {
	t.Helper()
	_, binding := environment.Documents(c)
	binding.SetDefaults()
	ports := binding.Spec.Ports
	for what, ok := range map[string]bool{
		"a source that is built": c.Source.Kind == settings.SourceStatic || c.Source.Kind == settings.SourceFile || c.Source.Kind == settings.SourceCommand,
		"what the source needs": map[settings.SourceKind]bool{
			settings.SourceStatic:  len(c.Static.Nodes) > 0,
			settings.SourceFile:    c.File.Path != "",
			settings.SourceCommand: c.Command.Path != "",
		}[c.Source.Kind],
		"time to read":         c.Source.PollInterval > 0 && c.Source.Timeout > 0,
		"a subnet":             len(c.Secured.Subnets) > 0,
		"a Service and slices": c.Target.Namespace != "" && c.Target.ServiceName != "" && c.Target.SliceName != "" && c.Target.ManagedBy != "",
		"a port":               len(ports) > 0 && len(ports) <= 100 && ports[0].Port > 0,
		"one kind of port":     (c.Target.Port != 0) == (len(c.Target.Ports) == 0),
		"room in a slice":      c.Target.MaxEndpointsPerSlice >= 1 && c.Target.MaxEndpointsPerSlice <= 1000,
		"a port to check":      c.Health.Mode == settings.HealthOff || c.Health.Port > 0 || documents.TCPPorts(ports) == 1,
		"rounds that can end":  c.Health.Timeout > 0 && c.Health.Timeout <= c.Health.Interval && c.Health.Concurrency > 0,
		"counts":               c.Health.Rise > 0 && c.Health.Fall > 0 && c.Guard.EmptyResultThreshold >= 0,
		"percentages":          c.Guard.MaxRemovalPercent >= 0 && c.Guard.MaxRemovalPercent <= 100 && c.Guard.MaxSilentPercent <= 100,
		"a status that passes": len(c.Health.ExpectedStatus) > 0,
		"a path":               strings.HasPrefix(c.Health.Path, "/"),
		"a drain period":       c.Guard.DrainPeriod >= 0,
		"a cluster to lead in": !c.Leader.Election || c.Store.Kind != settings.StoreMemory,
	} {
		if !ok {
			t.Fatalf("accepted without %s: %+v", what, c)
		}
	}
}
