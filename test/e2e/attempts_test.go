package e2e_test

import (
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// stories are the tests of what teams do to each other, whichever carrier has the
// documents. files says that the carrier plays no part, so that files are enough.
var stories = []struct {
	name  string
	tell  func(*testing.T, *platform)
	files bool
}{
	{name: "Contract75NothingOutsideAPoolIsPublishedOrProbed", tell: attempts},
	{name: "Contract75NothingOutsideAPoolIsPublishedUnderAPolicyEither", tell: func(t *testing.T, p *platform) { p.policy(); attempts(t, p) }},
	{name: "Contract76AStandbyTakesOverWithoutAWrite", tell: standbyOfMany},
	{name: "Contract49ADryRunOfManyWritesNothing", tell: dryRunOfMany},
	{name: "Contract60LabelsOfNamespacesComeAndGo", tell: labelsComeAndGo},
	{name: "Contract60SlicesInForgottenNamespacesAreFound", tell: forgottenNamespace, files: true},
	{name: "Contract76ANamespaceWithoutServicesHoldsUpNoGroup", tell: servicesOfOneCannotBeListed, files: true},
	{name: "Contract49CredentialsComeLateAndAreRotated", tell: credentialsRotate},
	{name: "Contract45ARestartWithBrokenDocumentsKeepsAll", tell: restartWithBrokenDocuments},
	{name: "Contract76NoTeamSlowsAnother", tell: noTeamSlowsAnother}, // the last: its bindings stay
}

// TestTheTeams tells the stories with documents in files. One server serves them all.
func TestTheTeams(t *testing.T) {
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			story.tell(t, newPlatform(t, cp))
		})
	}
}

// Contract 85: the stories with documents in the API server, where objects say what comes
// of them. One server serves them one after the other, because each program reads the
// objects of all namespaces, and writes the status of each.
func TestContract85TheTeamsWithDocumentsInTheAPIServer(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	for _, story := range stories {
		if !story.files {
			t.Run(story.name, func(t *testing.T) { story.tell(t, newPlatform(t, cp).inAPI()) })
		}
	}
}

// trap listens where nothing of the program may ever connect to.
type trap struct {
	addr netip.AddrPort
	hits atomic.Int64
}

func newTrap(t *testing.T, addr netip.Addr, port uint16) *trap {
	t.Helper()
	trap := &trap{addr: netip.AddrPortFrom(addr, port)}
	listener, err := net.Listen("tcp", trap.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			trap.hits.Add(1)
			_ = conn.Close()
		}
	}()
	return trap
}

// strangers counts the addresses outside of all pools.
var strangers atomic.Int64

// outsideAddress is one that is in no pool that a team may use.
func outsideAddress(t *testing.T) netip.Addr {
	t.Helper()
	addr := netip.AddrFrom4([4]byte{10, 9, 0, byte(strangers.Add(1))})
	netns.AddAddress(t, addr)
	return addr
}

// attempt is something that a team does in its own namespace.
type attempt struct {
	// annotations are those of its Service, spec changes the rest; slice is one that
	// the team makes itself.
	annotations map[string]string
	spec        func(*corev1.Service)
	slice       func(*discoveryv1.EndpointSlice)
	// reason is that of the one Event that tells of it, note is in that; empty for none.
	reason, note string
	// filled says that the Service is filled from pool blue nevertheless.
	filled bool
}

// chosen are the annotations that choose pool blue, and more.
func chosen(more ...string) map[string]string {
	all := map[string]string{"endpoints.ablmnzde.github.io/pool": "blue"}
	for i := 0; i+1 < len(more); i += 2 {
		all["endpoints.ablmnzde.github.io/"+more[i]] = more[i+1]
	}
	return all
}

// otherPort is where the nodes of pool blue have a trap: no pool allows it.
const otherPort = 8081

// attempts are those of the traps that other systems know. secret is a pool that another
// namespace may use, outside an address of no pool.
func attemptsOf(outside netip.Addr) map[string]attempt {
	targetPort := func(port intstr.IntOrString) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = port }
	}
	local := corev1.ServiceInternalTrafficPolicyLocal
	return map[string]attempt{
		"forbidden": {annotations: chosen("pool", "secret"), reason: "PoolNotAllowed", note: "may not use a pool secret"},
		"missing":   {annotations: chosen("pool", "absent"), reason: "PoolNotAllowed", note: "may not use a pool absent"},
		"denied":    {annotations: chosen("pool", "false"), reason: "PoolNotAllowed"},
		"several":   {annotations: chosen("pool", "blue,secret"), reason: "Invalid", note: "endpoints.ablmnzde.github.io/pool"},
		"path":      {annotations: chosen("pool", "../secret"), reason: "Invalid", note: "endpoints.ablmnzde.github.io/pool"},
		"empty":     {annotations: chosen("pool", "")},
		"kubelet":   {annotations: chosen(), spec: targetPort(intstr.FromInt32(otherPort)), reason: "PortNotAllowed", note: "port 8081"},
		"named":     {annotations: chosen(), spec: targetPort(intstr.FromString("http")), reason: "PortMismatch", note: "no number"},
		"checked":   {annotations: chosen("health-check-port", "8081"), reason: "PortNotAllowed", note: "port 8081"},
		"query":     {annotations: chosen("health-check-mode", "HTTP", "health-check-path", "/?delete=all"), reason: "Invalid", note: "health-check-path"},
		"smuggled":  {annotations: chosen("health-check-mode", "HTTP", "health-check-host", "a\r\nx: y"), reason: "Invalid", note: "health-check-host"},
		"selecting": {annotations: chosen(), spec: withSelector, reason: "ServiceHasSelector"},
		"external":  {annotations: chosen(), spec: asExternalName, reason: "ServiceExternalName"},
		"widened":   {annotations: chosen("subnets", "0.0.0.0/0", "addresses", outside.String()), reason: "UnknownAnnotation", note: "has no effect", filled: true},
		"mistyped":  {annotations: chosen("health-check-pat", "/"), reason: "UnknownAnnotation", note: "did you mean endpoints.ablmnzde.github.io/health-check-path?", filled: true},
		"local":     {annotations: chosen(), spec: func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = &local }, reason: "TrafficPolicyLocal", filled: true},
		"near": {annotations: chosen(), spec: func(s *corev1.Service) {
			s.Spec.TrafficDistribution = new(corev1.ServiceTrafficDistributionPreferSameZone)
		}, reason: "TopologyIgnored", filled: true},
		"nearer":      {annotations: map[string]string{"endpoints.ablmnzde.github.io/pool": "blue", "service.kubernetes.io/topology-mode": "Auto"}, reason: "TopologyIgnored", filled: true},
		"headless":    {annotations: chosen(), spec: func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }, reason: "HeadlessPort", filled: true},
		"notready":    {annotations: chosen(), spec: func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }, filled: true},
		"appprotocol": {annotations: chosen(), spec: func(s *corev1.Service) { s.Spec.Ports[0].AppProtocol = new("kubernetes.io/h2c") }, filled: true},
		"beside":      {annotations: chosen(), slice: func(*discoveryv1.EndpointSlice) {}, reason: "MirroredSliceFound", filled: true},
		"taken":       {annotations: chosen(), slice: named("taken.blue"), reason: "SliceOwnedByOther", filled: true},
	}
}

func withSelector(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }

func asExternalName(s *corev1.Service) {
	s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
}

func withSecondPort(s *corev1.Service) {
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "other", Port: 81, TargetPort: intstr.FromInt32(otherPort)})
}

// named gives a slice another name.
func named(name string) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) { s.Name = name }
}

// attempts tries all of them in one namespace, of which three Services are filled. Where
// documents are objects, the team writes bindings too.
func attempts(t *testing.T, p *platform) {
	outside := outsideAddress(t)
	traps := []*trap{newTrap(t, outside, port)}
	for _, n := range p.nodes {
		traps = append(traps, newTrap(t, netip.MustParseAddr(n.IP), otherPort))
	}
	secret := p.poolText("secret", []node{{Name: "secret", IP: outside.String()}}, "[elsewhere]", "")
	p.write("secret.yaml", strings.Replace(secret, "10.0.0.0/16", "10.9.0.0/16", 1))
	all := attemptsOf(outside)
	neighbour := p.world.neighbour("stranger", chosen())
	for name, a := range all {
		p.try(name, a, outside)
	}
	if p.applied {
		p.tryBindings()
	}
	d := p.start()
	for name, a := range all {
		p.wantTried(name, a)
	}
	t.Run("the words do not tell whether a pool exists", func(t *testing.T) {
		forbidden, missing := p.notes("forbidden")[0].Note, p.notes("missing")[0].Note
		if want := strings.NewReplacer("secret", "absent", "/forbidden", "/missing").Replace(forbidden); missing != want {
			t.Errorf("got %q for a pool that is missing, and %q for one that is forbidden", missing, forbidden)
		}
	})
	if got := p.slicesOf(neighbour, "stranger"); len(got) > 0 {
		t.Errorf("a namespace that no pool names got slices %v", got)
	}
	p.forge(d, outside)
	p.nodes[0].backends[0].kill()
	p.wantStates("web", "blue", p.nodes, "down")
	p.wantStates("headless", "blue", p.nodes, "down")
	p.wantStates("notready", "blue", p.nodes, "odd true false false") // ready, but not serving
	if p.applied {
		p.wantBindingsTried()
	}
	for _, trap := range traps {
		if hits := trap.hits.Load(); hits > 0 {
			t.Errorf("got %d connections to %s, which no pool allows", hits, trap.addr)
		}
	}
}
