package settings_test

import (
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// roundTrip demands that what a list prints decodes to the same list.
func roundTrip[T any, P interface {
	*T
	Decode(value string) error
	String() string
}](t *testing.T, list P) {
	t.Helper()
	var again T
	if err := P(&again).Decode(list.String()); err != nil {
		t.Fatalf("what it prints, %q, is refused: %v", list.String(), err)
	}
	if !reflect.DeepEqual(*list, again) {
		t.Fatalf("%q decodes to %v, want %v", list.String(), again, *list)
	}
}

func FuzzSubnets(f *testing.F) {
	for _, seed := range []string{
		"10.0.0.0/8,", "10.0.0.0/24, fd00::/64", "10.1.2.3/8", "::ffff:10.0.0.0/104", "fe80::1%eth0/64", "0.0.0.0/0", "10.0.0.1", ",", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var subnets settings.Subnets
		if err := subnets.Decode(value); err != nil {
			return
		}
		if len(subnets) == 0 {
			t.Fatalf("%q was accepted as no subnet at all", value)
		}
		for _, subnet := range subnets {
			if !subnet.IsValid() || subnet != subnet.Masked() || subnet.Addr().Is4In6() || subnet.Addr().Zone() != "" {
				t.Fatalf("%q was accepted as %v", value, subnet)
			}
		}
		roundTrip(t, &subnets)
	})
}

func FuzzStatusRanges(f *testing.F) {
	for _, seed := range []string{"200-399", "200-399,404", "399-200", "99", "600", "200-", "-200", "200 - 299", "+200", "0200", ","} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var ranges settings.StatusRanges
		if err := ranges.Decode(value); err != nil {
			return
		}
		if len(ranges) == 0 {
			t.Fatalf("%q was accepted as no status at all", value)
		}
		for _, each := range ranges {
			if each.First < 100 || each.Last > 599 || each.First > each.Last {
				t.Fatalf("%q was accepted as %v", value, each)
			}
			if !ranges.Contains(each.First) || !ranges.Contains(each.Last) {
				t.Fatalf("%v does not contain the ends of %v", ranges, each)
			}
		}
		roundTrip(t, &ranges)
	})
}

func FuzzPorts(f *testing.F) {
	for _, seed := range []string{"http=8080", "a=80,b=53/udp", "a=80,a=81", "a=80,b=80/TCP", "=80", "a=0", "a=65536", "a=80/", "a==80", ","} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var ports settings.Ports
		if err := ports.Decode(value); err != nil {
			return
		}
		if len(ports) == 0 || len(ports) > 100 {
			t.Fatalf("%q was accepted as %d ports", value, len(ports))
		}
		names, sockets := map[string]bool{}, map[string]bool{}
		for _, port := range ports {
			if port.Name == "" || port.Number == 0 || len(port.Name) > 63 || names[port.Name] {
				t.Fatalf("%q was accepted as %v", value, port)
			}
			socket := strconv.Itoa(int(port.Number)) + string(port.Protocol)
			if sockets[socket] {
				t.Fatalf("%q was accepted although %s stands twice", value, socket)
			}
			names[port.Name], sockets[socket] = true, true
		}
		roundTrip(t, &ports)
	})
}

func FuzzStaticNodes(f *testing.F) {
	for _, seed := range []string{"a=10.0.0.1,b=fd00::1", "a=fe80::1%eth0", "a=::ffff:10.0.0.1", "a=b=10.0.0.1", "=", "a=10.0.0.1,a=10.0.0.2", ","} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var nodes settings.StaticNodes
		if err := nodes.Decode(value); err != nil {
			return
		}
		names := map[string]bool{}
		for _, node := range nodes {
			if node.Name == "" || names[node.Name] || !node.Addr.IsValid() || node.Addr.Zone() != "" || node.Addr.Is4In6() {
				t.Fatalf("%q was accepted as %v", value, node)
			}
			names[node.Name] = true
		}
		if len(nodes) == 0 {
			t.Fatalf("%q was accepted as no node at all", value)
		}
		roundTrip(t, &nodes)
	})
}

func FuzzCommandArgs(f *testing.F) {
	for _, seed := range []string{
		`a 'b c' "d e" f\ g`, `$HOME`, "`id`", `$(id)`, `$((1))`, `<(id)`, `a|b`, `a;b`, `a>b`, `a #b`, `'`, `"`, `\`, "a\\\nb", `$'a'`, "\x00", "a\r\nb",
		`{a,b}`, `"a\"b\\c\d"`, `a=(b)`, `@(a)`, `!`, "\xff", `"\`, "if for", `[[ a`, `((`, `a\`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var args settings.Args
		if err := args.Decode(value); err != nil {
			return
		}
		// No letter is lost or invented but quotes, backslashes and space.
		strip := strings.NewReplacer("'", "", `"`, "", `\`, "", " ", "", "\t", "", "\n", "").Replace
		if got, want := strip(strings.Join(args, " ")), strip(value); got != want {
			t.Fatalf("%q was split into %q: some of it is lost", value, args)
		}
		roundTrip(t, &args)
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
		c, err := settings.Load(lines)
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
	backends := c.Target.Backends()
	for what, ok := range map[string]bool{
		"a source that is built": c.Source.Kind == settings.SourceStatic || c.Source.Kind == settings.SourceFile || c.Source.Kind == settings.SourceCommand,
		"what the source needs": map[settings.SourceKind]bool{
			settings.SourceStatic:  len(c.Static.Nodes) > 0,
			settings.SourceFile:    c.File.Path != "",
			settings.SourceCommand: c.Command.Path != "",
		}[c.Source.Kind],
		"time to read":         c.Source.PollInterval > 0 && c.Source.Timeout > 0,
		"a subnet":             len(c.Secured.Subnets) > 0 && c.Secured.Subnets[0] != netip.Prefix{},
		"a Service and slices": c.Target.Namespace != "" && c.Target.ServiceName != "" && c.Target.SliceName != "" && c.Target.ManagedBy != "",
		"a port":               len(backends) > 0 && backends[0].Number > 0,
		"one kind of port":     c.Target.PortFromService() == (len(c.Target.Ports) == 0),
		"room in a slice":      c.Target.MaxEndpointsPerSlice >= 1 && c.Target.MaxEndpointsPerSlice <= 1000,
		"a port to check":      c.Health.Mode == settings.HealthOff || c.Health.Port > 0,
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
