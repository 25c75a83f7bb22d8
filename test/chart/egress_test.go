package chart_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// peer is the other end of a connection. Only a Pod of this cluster has labels.
type peer struct {
	address        netip.Addr
	namespace, pod labels.Set
}

// peers are what the daemon needs in one installation or another, and what it
// never needs.
var peers = map[string]peer{
	"dns": {
		netip.MustParseAddr("10.244.0.2"), labels.Set{"kubernetes.io/metadata.name": "kube-system"}, labels.Set{"k8s-app": "kube-dns"},
	},
	"api":        {address: netip.MustParseAddr("192.0.2.1")},
	"remote api": {address: netip.MustParseAddr("192.0.2.2")},
	"ionos":      {address: netip.MustParseAddr("192.0.2.3")},
	"backend":    {address: netip.MustParseAddr("10.7.222.11")},
	"backend 6":  {address: netip.MustParseAddr("fd00:10::11")},
	"berlin":     {address: netip.MustParseAddr("10.7.1.11")},
	"london":     {address: netip.MustParseAddr("10.8.1.11")},
	"neighbour":  {address: netip.MustParseAddr("10.7.223.11")},
	"metadata":   {address: netip.MustParseAddr("169.254.169.254")},
	"replica": {
		netip.MustParseAddr("10.244.0.4"), labels.Set{"kubernetes.io/metadata.name": "edge"}, labels.Set{
			"app.kubernetes.io/name": release, "app.kubernetes.io/instance": "edge", "app.kubernetes.io/component": "controller",
		},
	},
	"pod": {
		netip.MustParseAddr("10.244.0.3"), labels.Set{"kubernetes.io/metadata.name": "edge"}, labels.Set{"app": "shop"},
	},
}

// narrow says where everything is: each rule opens the way to one peer.
var narrow = []string{
	"--set-json", `networkPolicy.egress.dnsTo=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}}}]`,
	"--set", "networkPolicy.egress.kubernetes.cidrs={192.0.2.1/32}",
	"--set", "networkPolicy.egress.remote.cidrs={192.0.2.2/32}",
	"--set", "networkPolicy.egress.ionos.cidrs={192.0.2.3/32}",
	"--set", `controller.securedSubnetCidr={10.7.222.0/24,fd00:10::/64}`,
}

func TestThePolicyOpensWhatIsNeededAndNothingElse(t *testing.T) {
	const dns, apis, metrics = "TCP 53, UDP 53", "TCP 443 6443", "TCP 8081"
	alone := []string{"--set", "controller.sourceKind=static", "--set", "controller.staticNodes=a=10.7.222.11"}
	printing := append([]string{"--set", "controller.storeKind=memory", "--set", "controller.leaderElection=false", "--set", "replicaCount=1"}, alone...)
	for name, c := range map[string]struct {
		args []string
		want map[string]string
	}{
		"ionos": {nil, map[string]string{"dns": dns, "replica": metrics, "api": apis, "remote api": apis, "ionos": "TCP 443", "backend": "TCP 8080", "backend 6": "TCP 8080"}},
		"ionos with a cluster's id": {
			[]string{"--set", "controller.ionosClusterId=2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11"},
			map[string]string{"dns": dns, "replica": metrics, "api": apis, "ionos": "TCP 443", "backend": "TCP 8080", "backend 6": "TCP 8080"},
		},
		"ionos at another address": {
			[]string{"--set", "controller.ionosApiUrl=https://api.example.com:8443/v6"},
			map[string]string{"dns": dns, "replica": metrics, "api": apis, "remote api": apis, "ionos": "TCP 8443", "backend": "TCP 8080", "backend 6": "TCP 8080"},
		},
		"command": {
			[]string{"--set", "controller.sourceKind=command", "--set", "controller.inventoryCommand=a"},
			map[string]string{"dns": dns, "replica": metrics, "api": apis, "remote api": apis, "ionos": "TCP 443", "backend": "TCP 8080", "backend 6": "TCP 8080"},
		},
		"kubernetes": {
			[]string{"--set", "controller.sourceKind=kubernetes"},
			map[string]string{"dns": dns, "replica": metrics, "api": apis, "remote api": apis, "backend": "TCP 8080", "backend 6": "TCP 8080"},
		},
		"API servers with ports of their own": {
			[]string{"--set", "networkPolicy.egress.kubernetes.ports={6444}", "--set", "networkPolicy.egress.remote.ports={12345}"},
			map[string]string{"dns": dns, "replica": metrics, "api": "TCP 6444", "remote api": "TCP 12345", "ionos": "TCP 443", "backend": "TCP 8080", "backend 6": "TCP 8080"},
		},
		"a DNS with a port of its own": {
			append([]string{"--set", "networkPolicy.egress.dnsPorts={5353}"}, alone...),
			map[string]string{"dns": "TCP 5353, UDP 5353", "replica": metrics, "api": apis, "backend": "TCP 8080", "backend 6": "TCP 8080"},
		},
		"file": {
			[]string{"--set", "controller.sourceKind=file", "--set", "controller.inventoryFilePath=a"},
			map[string]string{"dns": dns, "replica": metrics, "api": apis, "backend": "TCP 8080", "backend 6": "TCP 8080"},
		},
		"static": {alone, map[string]string{"dns": dns, "replica": metrics, "api": apis, "backend": "TCP 8080", "backend 6": "TCP 8080"}},
		"tcp":    {append([]string{"--set", "controller.healthCheckMode=tcp"}, alone...), map[string]string{"dns": dns, "replica": metrics, "api": apis, "backend": "TCP 8080", "backend 6": "TCP 8080"}},
		"http on a port of its own": {
			append([]string{"--set", "controller.healthCheckMode=http", "--set", "controller.healthCheckPort=9000"}, alone...),
			map[string]string{"dns": dns, "replica": metrics, "api": apis, "backend": "TCP 9000", "backend 6": "TCP 9000"},
		},
		"https on the only TCP port": {
			append([]string{"--set", "controller.healthCheckMode=https", "--set", "controller.targetPorts={https=8443,dns=53/UDP}"}, alone...),
			map[string]string{"dns": dns, "replica": metrics, "api": apis, "backend": "TCP 8443", "backend 6": "TCP 8443"},
		},
		"off":            {append([]string{"--set", "controller.healthCheckMode=off"}, alone...), map[string]string{"dns": dns, "replica": metrics, "api": apis}},
		"off, as false":  {append([]string{"--set", "controller.healthCheckMode=false"}, alone...), map[string]string{"dns": dns, "replica": metrics, "api": apis}},
		"nothing stored": {printing, map[string]string{"dns": dns, "backend": "TCP 8080", "backend 6": "TCP 8080"}},
		"a further rule": {
			append([]string{"--set-json", `networkPolicy.extraEgress=[{"to":[{"podSelector":{"matchLabels":{"app":"shop"}}}],"ports":[{"port":3128}]}]`}, alone...),
			map[string]string{"dns": dns, "replica": metrics, "api": apis, "backend": "TCP 8080", "backend 6": "TCP 8080", "pod": "TCP 3128"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened(t, slices.Concat(readme, narrow, c.args), c.want)
		})
	}
}

// TestContract74ThePolicyOpensWhatPoolsNeedAndNothingElse: each pool its subnets, with the
// ports that it allows and the one that it checks.
func TestContract74ThePolicyOpensWhatPoolsNeedAndNothingElse(t *testing.T) {
	const dns, apis, metrics = "TCP 53, UDP 53", "TCP 443 6443", "TCP 8081"
	opened(t, append([]string{"--values", filepath.Join(chartDir, "ci", "pools-values.yaml")}, narrow[:8]...), map[string]string{
		"dns": dns, "replica": metrics, "api": apis, "remote api": apis, "ionos": "TCP 443",
		"berlin": "TCP 10256 30080-30081 31000-31999", "backend 6": "TCP 10256 30080-30081 31000-31999",
		"london": "TCP 30443 31000-31999",
	})
	opened(t, append([]string{"--values", filepath.Join(chartDir, "ci", "folder-values.yaml")}, narrow[:8]...), map[string]string{
		"dns": dns, "replica": metrics, "api": apis, "remote api": apis, "ionos": "TCP 443", "berlin": "TCP 30080 31000-31999",
	})
}

// TestContract74ThePolicyOpensWhatTheCredentialsAreFor: a kubeconfig beside the id of a
// managed cluster is for remote Services, and a program asks what it has credentials for.
func TestContract74ThePolicyOpensWhatTheCredentialsAreFor(t *testing.T) {
	const cloud = "ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 2, clusterID: 2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11}"
	const program = "command: {path: /usr/local/bin/nodes}"
	for name, c := range map[string]struct {
		source, credentials string
		remote, ionos       bool
	}{
		"whatever the Secret has": {cloud, "{secretName: blue}", true, true},
		"a kubeconfig":            {cloud, "{secretName: blue, keys: {token: a, kubeconfig: b}}", true, true},
		"a token only":            {cloud, "{secretName: blue, keys: {token: a}}", false, true},
		"a program":               {program, "{secretName: blue}", true, true},
		"a program with a token":  {program, "{secretName: blue, keys: {token: a}}", false, true},
		"a program without":       {program, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "image: {tag: 0.1.0}\npools:\n  blue:\n    source: {" + c.source + "}\n    subnets: [10.7.1.0/24]\n    allow: [{namespaces: [shop], ports: [\"30080\"]}]\n"
			if c.credentials != "" {
				text += "    credentials: blue\ncredentials: {blue: " + c.credentials + "}\n"
			}
			values := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(values, []byte(text+"bounds: {namespaces: [shop], subnets: [10.7.0.0/16], ports: [30080]}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"dns": "TCP 53, UDP 53", "replica": "TCP 8081", "api": "TCP 443 6443", "berlin": "TCP 30080"}
			if c.remote {
				want["remote api"] = "TCP 443 6443"
			}
			if c.ionos {
				want["ionos"] = "TCP 443"
			}
			opened(t, append([]string{"--values", values}, narrow[:8]...), want)
		})
	}
}

// TestThePolicyIsClosedWithoutAnyAddressInTheValues: what is not narrowed is limited
// by its ports.
func TestThePolicyIsClosedWithoutAnyAddressInTheValues(t *testing.T) {
	want := map[string]string{}
	for name := range peers {
		want[name] = "TCP 53 443 6443, UDP 53"
	}
	want["backend"] = "TCP 53 443 6443 8080, UDP 53"
	want["replica"] = "TCP 53 443 6443 8081, UDP 53"
	opened(t, append(slices.Clone(readme), "--set", "controller.securedSubnetCidr=10.7.222.0/24"), want)
}

// opened compares what the rendered policy lets the Pods reach; a peer that is not
// named must not be reached at all.
func opened(t *testing.T, args []string, want map[string]string) {
	t.Helper()
	objects := documents(t, render(t, helms[1], args...))
	policy := stage.One[*networkingv1.NetworkPolicy](t, slices.DeleteFunc(slices.Clone(objects), isFormerPolicy))
	if !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
		t.Error("the policy limits no egress")
	}
	for _, pod := range []labels.Set{stage.One[*appsv1.Deployment](t, objects).Spec.Template.Labels, stage.One[*corev1.Pod](t, objects).Labels} {
		if !selects(t, &policy.Spec.PodSelector, pod) {
			t.Errorf("the policy does not hold for the Pod with labels %v", pod)
		}
	}
	got := map[string]string{}
	for name, to := range peers {
		if reached := reachable(t, policy, to); reached != "" {
			got[name] = reached
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reachable (-want +got)\n%s", diff)
	}
}

// TestContract163ThePortOfTheAPIIsOpened: in each form of the address that the program takes.
func TestContract163ThePortOfTheAPIIsOpened(t *testing.T) {
	for address, port := range map[string]string{
		"https://api.ionos.com": "443", "api.ionos.com": "443", "http://api.example.com": "80", "https://api.example.com:8443/cloudapi/v6": "8443",
		"api.example.com:8443": "8443", "localhost:8443": "8443", "127.0.0.1:18181": "18181", "[fd00::1]:8443": "8443", "HTTP://api.example.com/": "80", "https://[fd00::1]": "443",
	} {
		for _, version := range helms {
			objects := documents(t, render(t, version, slices.Concat(readme, narrow, []string{"--set", "controller.ionosApiUrl=" + address})...))
			policy := stage.One[*networkingv1.NetworkPolicy](t, slices.DeleteFunc(objects, isFormerPolicy))
			if got := reachable(t, policy, peers["ionos"]); got != "TCP "+port {
				t.Errorf("%s: %s: got %s, want TCP %s", version, address, got, port)
			}
		}
	}
}

// isFormerPolicy: one of the two policies is not for the Pods that are rendered with it.
func isFormerPolicy(object any) bool {
	policy, is := object.(*networkingv1.NetworkPolicy)
	return is && strings.HasSuffix(policy.Name, "-former")
}

// TestContract162NothingIsClosedToPodsOfAnotherConfiguration: a NetworkPolicy holds at once
// for the Pods that an upgrade has not replaced yet, and a port that it closes would be
// silence to them. The Pods of the values are bounded by the other policy alone.
func TestContract162NothingIsClosedToPodsOfAnotherConfiguration(t *testing.T) {
	pods := func(objects []any) []labels.Set {
		return []labels.Set{stage.One[*appsv1.Deployment](t, objects).Spec.Template.Labels, stage.One[*corev1.Pod](t, objects).Labels}
	}
	before := rendered(t, readme...)
	for name, change := range map[string][]string{
		"the port": {"--set", "controller.targetPort=9090"}, "the port that is checked": {"--set", "controller.healthCheckPort=9090"},
		"the subnets": {"--set", "controller.securedSubnetCidr=10.1.0.0/16"}, "the port of the metrics": {"--set", "controller.metricsAddress=0.0.0.0:9091"},
		"the API": {"--set", "controller.ionosApiUrl=https://api.example.com:8443"}, "to pools": poolsValues,
	} {
		args := append(slices.Clone(readme), change...)
		if name == "to pools" {
			args = change
		}
		after := rendered(t, args...)
		former := stage.One[*networkingv1.NetworkPolicy](t, slices.DeleteFunc(slices.Clone(after), func(o any) bool { return !isFormerPolicy(o) }))
		for _, pod := range pods(before)[:1] {
			if !selects(t, &former.Spec.PodSelector, pod) {
				t.Errorf("%s: the Pods of before are limited", name)
			}
		}
		for _, pod := range pods(after) {
			if selects(t, &former.Spec.PodSelector, pod) {
				t.Errorf("%s: the Pods of the values are not limited", name)
			}
		}
		for peer, to := range peers {
			if got := reachable(t, former, to); got != "TCP 1-65535, UDP 1-65535, SCTP 1-65535" {
				t.Errorf("%s: the Pods of before reach of %s only %s", name, peer, got)
			}
		}
		if len(former.Spec.Ingress) != 1 || len(former.Spec.Ingress[0].From)+len(former.Spec.Ingress[0].Ports) > 0 {
			t.Errorf("%s: got %v, want all let in to the Pods of before", name, former.Spec.Ingress)
		}
	}
}

// reachable lists the ports that a policy opens to a peer: "TCP 53 443, UDP 53".
func reachable(t *testing.T, policy *networkingv1.NetworkPolicy, to peer) string {
	t.Helper()
	var rules []networkingv1.NetworkPolicyEgressRule
	for _, rule := range policy.Spec.Egress {
		if len(rule.To) == 0 || slices.ContainsFunc(rule.To, func(p networkingv1.NetworkPolicyPeer) bool { return means(t, policy, p, to) }) {
			rules = append(rules, rule)
		}
	}
	var found []string
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		text := string(protocol)
		for port := int32(1); port <= 65535; port++ {
			first := port
			for port <= 65535 && opens(rules, protocol, port) {
				port++
			}
			switch last := port - 1; {
			case last == first:
				text += fmt.Sprint(" ", first)
			case last > first:
				text += fmt.Sprintf(" %d-%d", first, last)
			}
		}
		if text != string(protocol) {
			found = append(found, text)
		}
	}
	return strings.Join(found, ", ")
}

// means reports whether an entry of a rule's "to" selects a peer.
func means(t *testing.T, policy *networkingv1.NetworkPolicy, p networkingv1.NetworkPolicyPeer, to peer) bool {
	t.Helper()
	if p.IPBlock != nil {
		within := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(to.address) }
		return within(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, within)
	}
	if to.pod == nil {
		return false
	}
	if p.NamespaceSelector == nil {
		return to.namespace["kubernetes.io/metadata.name"] == policy.Namespace && selects(t, p.PodSelector, to.pod)
	}
	return selects(t, p.NamespaceSelector, to.namespace) && (p.PodSelector == nil || selects(t, p.PodSelector, to.pod))
}

// opens reports whether any of the rules names a port. A rule without ports, or
// with a port without a number, means all of them.
func opens(rules []networkingv1.NetworkPolicyEgressRule, protocol corev1.Protocol, port int32) bool {
	for _, rule := range rules {
		if len(rule.Ports) == 0 {
			return true
		}
		for _, p := range rule.Ports {
			if p.Protocol != nil && *p.Protocol != protocol || p.Protocol == nil && protocol != corev1.ProtocolTCP {
				continue
			}
			if p.Port == nil || p.Port.IntVal == port || p.EndPort != nil && p.Port.IntVal <= port && port <= *p.EndPort {
				return true
			}
		}
	}
	return false
}

func selects(t *testing.T, selector *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(set)
}
