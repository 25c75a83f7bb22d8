package e2e_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// reasonCase brings a daemon into a reason.
type reasonCase struct {
	// env changes the configuration before the daemon starts.
	env map[string]string
	// before changes the world before the daemon starts, then once the backends
	// are published; the latter is left out where nothing ever is.
	before, then func(w *world)
	// subject is the name of the node; the default is that of the first.
	subject string
	// event is the Event on the Service that reports it, and says is a part of its
	// note. It is empty where nothing published changes.
	event, says string
	// remote says that the nodes are nodes of a real cluster.
	remote bool
}

// ofPlacement are the reasons of groups that follow a remote Service; see
// TestEachReasonOfAPlacementIsTheSameOnEverySurface.
var ofPlacement = []string{"NoPod", "UnknownNode", "PlacementRejected"}

// ofReplicas is the reason that takes two replicas, each with a network of its own; see TestChanges/Contract239_two_replicas
// of package lab.
const ofReplicas = "ReadyElsewhere"

// reasonCases has a way into each reason. By default the daemon's other two nodes are
// ready.
func reasonCases() map[string]reasonCase {
	listed := func(fields string) func(*world) { return func(w *world) { w.listFirst(fields) } }
	killFirst := func(w *world) { w.nodes[0].backends[0].kill() }
	killAll := func(w *world) {
		for _, n := range w.nodes {
			n.backends[0].kill()
		}
	}
	leaveAlone := func(w *world) {
		for _, n := range w.nodes[1:] {
			n.backends[0].kill()
		}
		w.nodes[0].Leaving = true
		w.writeInventory(w.nodes)
	}
	alone := func(serve func(*world)) func(*world) {
		return func(w *world) { w.nodes[0].backends[0].kill(); serve(w); w.writeInventory(w.nodes[:1]) }
	}
	return map[string]reasonCase{
		"Ready":         {then: func(*world) {}, event: "EndpointsUpdated", says: "(ready)"},
		"ReadyFailOpen": {then: killAll, event: "FailOpenEngaged", says: "NothingPasses"},
		"ReadyHeld":     {then: func(w *world) { w.writeFile("[]") }, event: "RemovalHeld", says: "NoNodes", env: map[string]string{"EMPTY_RESULT_THRESHOLD": "0"}},
		"ReadyDraining": {then: leaveAlone, event: "RemovalHeld", says: "NothingPasses", env: map[string]string{"DRAIN_PERIOD": "10m"}},
		"ReadyFailing":  {then: killFirst, env: map[string]string{"HEALTH_CHECK_FALL": "1000"}},
		"Draining":      {then: func(w *world) { w.nodes[0].Leaving = true; w.writeInventory(w.nodes) }, event: "EndpointsUpdated", says: "(draining)", env: map[string]string{"DRAIN_PERIOD": "10m", "HEALTH_CHECK_RISE": "1"}},
		"Gone":          {then: func(w *world) { w.writeInventory(w.nodes[1:]) }, event: "EndpointsUpdated", says: "removed", env: map[string]string{"DRAIN_PERIOD": "1s"}},

		"ProbePending":     {before: silenceFirst, env: map[string]string{"HEALTH_CHECK_TIMEOUT": "2m", "HEALTH_CHECK_INTERVAL": "2m"}},
		"ProbeRefused":     {then: killFirst, event: "EndpointsUpdated", says: "(down)"},
		"ProbeTimeout":     {then: silenceFirst, event: "EndpointsUpdated", says: "(down)"},
		"ProbeUnreachable": {before: farAway, subject: "far-away", env: map[string]string{"HEALTH_CHECK_TIMEOUT": "5s", "HEALTH_CHECK_INTERVAL": "5s", "SECURED_SUBNET_CIDR": "10.0.0.0/16,10.9.0.0/24"}},
		"ProbeStatus":      {before: alone(servesErrors), env: map[string]string{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_FAIL_OPEN": "false"}},
		"ProbeTLS":         {before: alone(servesStrangersTLS), env: map[string]string{"HEALTH_CHECK_MODE": "https", "HEALTH_CHECK_FAIL_OPEN": "false"}},

		"NodeNotReady":     {before: listed(`"private_ip": "10.0.0.1", "ready": false, "worker": true`), subject: "odd"},
		"NotWorker":        {before: listed(`"private_ip": "10.0.0.1", "ready": true, "worker": false`), subject: "odd"},
		"NoPrivateAddress": {before: listed(`"private_ips": [], "ready": true, "worker": true`), subject: "odd"},
		"InvalidAddress":   {before: listed(`"private_ip": "::ffff:10.0.0.1", "ready": true, "worker": true`), subject: "odd"},
		"ForbiddenAddress": {before: listed(`"private_ip": "169.254.169.254", "ready": true, "worker": true`), subject: "odd"},
		"OutsideSubnet":    {before: listed(`"private_ip": "192.168.7.7", "ready": true, "worker": true`), subject: "odd"},
		"DuplicateAddress": {before: func(w *world) {
			w.listFirst(fmt.Sprintf(`"id": "z", "private_ip": %q, "ready": true, "worker": true`, w.nodes[0].IP))
		}, subject: "odd"},
		"Excluded": {remote: true},
	}
}

// listFirst puts a node called "odd" before the others.
func (w *world) listFirst(fields string) {
	w.writeFile(fmt.Sprintf(`[{"name": "odd", %s}, %s`, fields, marshal(w.t, w.nodes)[1:]))
}

// silenceFirst removes the address of the first node: no machine answers.
func silenceFirst(w *world) {
	w.t.Helper()
	netns.RemoveAddress(w.t, netip.MustParseAddr(w.nodes[0].IP))
}

// farAway lists a node on a cable, and no machine at the other end has its address.
func farAway(w *world) {
	w.t.Helper()
	for _, line := range []string{"link add near type veth peer name far", "link set near up", "link set far up", "address add 10.9.0.1/24 dev near"} {
		if output, err := exec.CommandContext(w.t.Context(), "sh", "-c", "ip "+line).CombinedOutput(); err != nil {
			w.lacking(fmt.Sprintf("ip %s: %v: %s", line, err, output))
		}
	}
	w.t.Cleanup(func() { _ = exec.Command("ip", "link", "del", "near").Run() }) // t.Context has ended
	far := node{Name: "far-away", IP: "10.9.0.77", Ready: true, Worker: true}
	w.writeInventory(append([]node{far}, w.nodes...))
}

// lacking skips the test, or fails it on a machine that must have everything.
func (w *world) lacking(what string) {
	w.t.Helper()
	if os.Getenv("CI") == "true" {
		w.t.Fatal(what)
	}
	w.t.Skip(what)
}

// takeOver listens where the backend of the first node did.
func (w *world) takeOver() net.Listener {
	w.t.Helper()
	return listen(w.t, netip.AddrPortFrom(netip.MustParseAddr(w.nodes[0].IP), port))
}

// listen listens where a listener may just have been closed: a program that another test
// starts at that moment has the socket too, until it runs.
func listen(t *testing.T, at netip.AddrPort) net.Listener {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; {
		listener, err := net.Listen("tcp", at.String())
		if err == nil {
			return listener
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// servesErrors answers every request with 503.
func servesErrors(w *world) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	server.Listener = w.takeOver()
	server.Start()
	w.t.Cleanup(server.Close)
}

// servesStrangersTLS has a certificate of an authority that the daemon does not
// trust.
func servesStrangersTLS(w *world) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Listener, server.Config.ErrorLog = w.takeOver(), log.New(io.Discard, "", 0)
	server.StartTLS()
	w.t.Cleanup(server.Close)
}

// TestEachReasonIsTheSameOnEverySurface brings a daemon into each reason of
// docs/reference/reasons.md, and looks for it on the page, in the JSON, the answer
// of explain, the log, the metric and, where what is published changes, the Event.
func TestEachReasonIsTheSameOnEverySurface(t *testing.T) {
	netns.Require(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	reasons, _, _ := strings.Cut(string(text), "\n## Events\n")
	cases := reasonCases()
	cp := controlplane.Start(t, controlplane.Options{})
	for _, line := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(reasons, -1) {
		reason := line[1]
		c, ok := cases[reason]
		if slices.Contains(ofPlacement, reason) || reason == ofReplicas {
			continue
		}
		if !ok {
			t.Errorf("no case brings a daemon into %s", reason)
			continue
		}
		delete(cases, reason)
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			c.play(t, cp, reason)
		})
	}
	for reason := range cases {
		t.Errorf("%s is no reason", reason)
	}
}

func TestEachReasonOfAPlacementIsTheSameOnEverySurface(t *testing.T) {
	netns.Require(t)
	w := newWorld(t, controlplane.Start(t, controlplane.Options{}), "client-go")
	r := newRemote(t, w.cp, w)
	r.makeRemoteService(30080)
	as := *w
	as.user = r.user
	as.grantAll("placement",
		rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}})
	w.env["REMOTE_SERVICE"], w.env["DRAIN_PERIOD"] = "remote-shop/web", "1s"
	w.env["HEALTH_CHECK_INTERVAL"], w.env["HEALTH_CHECK_TIMEOUT"] = "500ms", "400ms"
	first, others := w.nodes[0].Name, []string{w.nodes[1].Name, w.nodes[2].Name}
	r.putPods(append(others, first)...)
	s := newSurfaces(w.start())
	s.await(first, "Ready")
	for _, step := range []struct {
		pods   []string
		reason string
	}{{nil, "PlacementRejected"}, {append(others, "elsewhere"), "UnknownNode"}, {others, "NoPod"}} {
		r.putPods(step.pods...)
		s.await(first, step.reason)
		s.check(first, step.reason)
	}
}

// play brings a daemon into the reason and looks at every surface.
func (c reasonCase) play(t *testing.T, cp *controlplane.ControlPlane, reason string) {
	w := newLocalWorld(t)
	if c.event != "" || c.remote {
		w = newWorld(t, cp, "client-go")
	}
	subject := cmp.Or(c.subject, w.nodes[0].Name)
	w.env["HEALTH_CHECK_INTERVAL"], w.env["HEALTH_CHECK_TIMEOUT"] = "500ms", "400ms"
	for name, value := range c.env {
		w.env[name] = value
	}
	if c.remote {
		r := newRemote(t, cp, w)
		r.edit(subject, func(n *corev1.Node) {
			n.Labels = map[string]string{"node.kubernetes.io/exclude-from-external-load-balancers": ""}
		})
	}
	if c.before != nil {
		c.before(w)
	}
	s := newSurfaces(w.start())
	if c.then != nil {
		s.await(subject, "Ready")
		c.then(w)
	}
	s.await(subject, reason)
	s.check(subject, reason)
	if c.event != "" {
		s.wantEvent(c.event, c.says)
	}
}
