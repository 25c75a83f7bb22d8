package preflight_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// loaded is a valid configuration with changes.
func loaded(t *testing.T, changes ...string) settings.Config {
	t.Helper()
	c, err := environment.Load(append(changes, "STATIC_NODES=w1=10.0.0.11", "SECURED_SUBNET_CIDR=10.0.0.0/24",
		"TARGET_NAMESPACE=shop", "TARGET_SERVICE_NAME=web", "TARGET_PORT=8080", "STORE_KIND=client-go"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// outline is "result id" of each check, and proves that what is not as it should
// be has a remedy and its link.
func outline(t *testing.T, checks []preflight.Check) []string {
	t.Helper()
	var got []string
	for _, c := range checks {
		got = append(got, string(c.Result)+" "+string(c.ID))
		wanting := c.Result == preflight.Warn || c.Result == preflight.Fail
		if wanting != (c.Remedy != "") || wanting != strings.HasSuffix(c.Link, "/docs/reference/check.md#"+string(c.ID)) || c.Message == "" || c.Subject == "" {
			t.Errorf("got %+v, want a subject, a message, and a remedy with a link exactly where something is wrong", c)
		}
	}
	return got
}

// want compares the outline.
func want(t *testing.T, checks []preflight.Check, outlined ...string) {
	t.Helper()
	if diff := cmp.Diff(outlined, outline(t, checks)); diff != "" {
		t.Errorf("(-want +got):\n%s%+v", diff, checks)
	}
}

func TestUnusualSettingsAreWarningsAndNothingElseIs(t *testing.T) {
	t.Parallel()
	const valid = "ok configuration-valid"
	for _, test := range []struct {
		changes []string
		inPod   bool
		want    []string
	}{
		{nil, false, []string{valid}},
		{[]string{"LEADER_ELECTION=true"}, true, []string{valid}},
		{nil, true, []string{valid, "warn configuration-unusual"}},
		{[]string{"STORE_KIND=memory"}, true, []string{valid}},
		{[]string{"HEALTH_CHECK_MODE=off"}, false, []string{valid, "warn configuration-unusual"}},
		{[]string{"DRY_RUN=true"}, false, []string{valid, "warn configuration-unusual"}},
		{[]string{"SECURED_SUBNET_CIDR=10.0.0.0/24,::/0"}, false, []string{valid, "warn configuration-unusual"}},
	} {
		c := loaded(t, test.changes...)
		want(t, preflight.Unusual(c, poolOf(c), test.inPod), test.want...)
	}
}

func TestWhatTheCloudSaysIsJudged(t *testing.T) {
	t.Parallel()
	want(t, preflight.JudgeRead(2, time.Second, nil, []string{"odd"}), "ok source-read", "warn source-read")
	want(t, preflight.JudgeRead(0, time.Second, errors.New("broken"), nil), "fail source-read")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	token := "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, now.Add(13*24*time.Hour).Unix())) + ".c2VjcmV0"
	want(t, []preflight.Check{preflight.JudgeToken([]string{token, "password"}, now)}, "warn source-credential")
	want(t, []preflight.Check{preflight.JudgeToken([]string{"password"}, now)}, "skip source-credential")
}

func TestTheEndOfACredentialIsAFailureAndItsNearnessAWarning(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	// token is one that was valid for so long, and is for so long.
	token := func(lived, left time.Duration) *rest.Config {
		claims := fmt.Appendf(nil, `{"iat":%d,"exp":%d}`, now.Add(-lived).Unix(), now.Add(left).Unix())
		return &rest.Config{BearerToken: "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".c2VjcmV0"}
	}
	for _, test := range []struct {
		access     *rest.Config
		want, says string
	}{
		{token(300*day, 14*day), "ok", "the token expires at 2026-01-15T00:00:00Z"},
		{token(300*day, 13*day), "warn", "the token expires soon, at 2026-01-14T00:00:00Z"},
		{token(54*time.Minute, 6*time.Minute), "ok", "expires at 2026-01-01T00:06:00Z"},
		{token(55*time.Minute, 5*time.Minute), "warn", "expires soon, at 2026-01-01T00:05:00Z"},
		{token(day, 0), "fail", "the token expired at 2026-01-01T00:00:00Z"},
		{&rest.Config{BearerToken: "c2VjcmV0"}, "skip", "it does not say"},
		{&rest.Config{ExecProvider: &clientcmdapi.ExecConfig{Command: "c2VjcmV0"}}, "skip", "an exec plugin"},
	} {
		for _, id := range []preflight.ID{preflight.SourceExpiry, preflight.APIExpiry} {
			got := preflight.JudgeCredential(id, kube.ExpiryOf(test.access), now)
			want(t, []preflight.Check{got}, test.want+" "+string(id))
			if !strings.Contains(got.Message, test.says) || strings.Contains(got.Message, "c2VjcmV0") {
				t.Errorf("got %q, want %q in it and no secret", got.Message, test.says)
			}
		}
	}
}

func TestARightIsNeededExactlyWhereTheCodeAsksForIt(t *testing.T) {
	t.Parallel()
	const slices4 = "endpointslices.discovery.k8s.io"
	for _, test := range []struct {
		changes []string
		want    []string
	}{
		{nil, []string{"list, watch services/web", "list, watch, create " + slices4, "update " + slices4 + "/web-remote", "create events.events.k8s.io"}},
		{[]string{"SECURED_SUBNET_CIDR=fd00::/64"}, []string{"list, watch services/web", "list, watch, create " + slices4, "update " + slices4 + "/web-remote-ipv6", "create events.events.k8s.io"}},
		{[]string{"STORE_KIND=kubectl", "LEADER_ELECTION=true", "LEADER_ELECTION_NAMESPACE=shop", "LEADER_ELECTION_NAME=it"}, []string{
			"get services/web", "list, create " + slices4, "get, update " + slices4 + "/web-remote", "create events.events.k8s.io",
			"list, watch, update leases.coordination.k8s.io/it", "list, watch, update leases.coordination.k8s.io/it-reached", "create leases.coordination.k8s.io",
		}},
	} {
		c := loaded(t, test.changes...)
		if diff := cmp.Diff(test.want, world(t, c, nil, nil).Needed("shop")); diff != "" {
			t.Errorf("%v: rights (-want +got):\n%s", test.changes, diff)
		}
	}
}

// probed makes an endpoint for each outcome and the result of its probe.
func probed(outcomes ...inventory.Outcome) ([]inventory.Candidate, []inventory.Result) {
	reasons := map[inventory.Outcome]inventory.Reason{
		inventory.Pass: inventory.Ready, inventory.Refused: inventory.ProbeRefused, inventory.Silent: inventory.ProbeTimeout,
	}
	var candidates []inventory.Candidate
	var results []inventory.Result
	for i, outcome := range outcomes {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		candidates = append(candidates, inventory.Candidate{Node: inventory.Identity{Name: fmt.Sprint("w", i)}, Address: addr})
		results = append(results, inventory.Result{Address: addr, Outcome: outcome, Reason: reasons[outcome], Message: "so it went"})
	}
	return candidates, results
}

func TestWhenNoProbePassesTheHintTellsWhereToLook(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		outcomes []inventory.Outcome
		want     []string
		says     string
	}{
		{[]inventory.Outcome{inventory.Pass, inventory.Silent}, []string{"ok probes-address", "fail probes-address"}, ""},
		{[]inventory.Outcome{inventory.Silent}, []string{"fail probes-none", "fail probes-address"}, "security group"},
		{[]inventory.Outcome{inventory.Refused}, []string{"fail probes-none", "fail probes-address"}, "start the workload"},
		{[]inventory.Outcome{inventory.LocalError}, []string{"fail probes-none", "fail probes-address"}, "in common"},
		{[]inventory.Outcome{inventory.Refused, inventory.Silent}, []string{"fail probes-none", "fail probes-address", "fail probes-address"}, "in common"},
	} {
		checks := preflight.JudgeProbes(probed(test.outcomes...))
		want(t, checks, test.want...)
		if !strings.Contains(checks[0].Remedy, test.says) {
			t.Errorf("%v: got %q, want %q in it", test.outcomes, checks[0].Remedy, test.says)
		}
	}
	candidates, results := probed(inventory.Pass, inventory.Silent)
	candidates[1].Leaving = true
	want(t, preflight.JudgeProbes(candidates, results), "ok probes-address", "warn probes-address")
}

func TestNodesThatAreNotMeantToBePublishedDoNotFail(t *testing.T) {
	t.Parallel()
	node := func(name string, reason inventory.Reason) inventory.Decision {
		return inventory.Decision{Node: inventory.Identity{Name: name}, Reason: reason, Message: "it is so"}
	}
	want(t, preflight.JudgeNodes(0, nil), "fail nodes-usable")
	want(t, preflight.JudgeNodes(1, []inventory.Decision{node("a", inventory.NodeNotReady)}), "fail nodes-usable", "skip nodes-node")
	want(t, preflight.JudgeNodes(4, []inventory.Decision{
		node("a", ""), node("a", inventory.OutsideSubnet), node("a", inventory.InvalidAddress),
		node("b", inventory.NotWorker), node("c", inventory.Excluded), node("d", inventory.OutsideSubnet),
	}), "ok nodes-usable", "ok nodes-node", "skip nodes-node", "fail nodes-node", "skip nodes-node", "skip nodes-node", "fail nodes-node")
}

func TestEveryAreaHasItsChecks(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, doc := range preflight.Docs() {
		area, _, _ := strings.Cut(string(doc.ID), "-")
		used[area] = true
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(preflight.Areas())), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("areas and those of the checks differ (-areas +checks):\n%s", diff)
	}
}
