package join_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

func service(families ...corev1.IPFamily) *join.Service {
	return join.ToService(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: corev1.ServiceSpec{IPFamilies: families, Ports: []corev1.ServicePort{
			{Name: "http", Port: 80, AppProtocol: ptr.To("kubernetes.io/h2c")}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
		}},
	})
}

// slice has the port http on 8080 and an endpoint for each text: an address and the
// conditions that are set: +ready, -ready, +serving, -terminating.
func slice(name string, texts ...string) *join.Slice {
	object := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{
			{Name: ptr.To("http"), Port: ptr.To(int32(8080))},
			{Name: nil, Port: ptr.To(int32(1))}, {Name: ptr.To("dns"), Port: ptr.To(int32(53))}, // TCP, so none of the Service's
		},
	}
	for _, text := range texts {
		words := strings.Fields(text)
		if strings.Contains(words[0], ":") {
			object.AddressType = discoveryv1.AddressTypeIPv6
		}
		e := discoveryv1.Endpoint{Addresses: strings.Split(words[0], ",")}
		for _, word := range words[1:] {
			value := ptr.To(word[0] == '+')
			switch word[1:] {
			case "ready":
				e.Conditions.Ready = value
			case "serving":
				e.Conditions.Serving = value
			case "terminating":
				e.Conditions.Terminating = value
			}
		}
		object.Endpoints = append(object.Endpoints, e)
	}
	return join.ToSlice(object)
}

// states are the addresses with their states.
func states(endpoints []join.Endpoint) string {
	var words []string
	for _, e := range endpoints {
		words = append(words, fmt.Sprintf("%s=%s", e.Address, e.State))
	}
	return strings.Join(words, " ")
}

func TestJoin(t *testing.T) {
	for name, c := range map[string]struct {
		slices []*join.Slice
		want   string
	}{
		"no slice":            {nil, ""},
		"nothing said":        {[]*join.Slice{slice("a", "10.0.0.1")}, "10.0.0.1=ready"},
		"ready said":          {[]*join.Slice{slice("a", "10.0.0.1 +ready", "10.0.0.2 -ready")}, "10.0.0.1=ready 10.0.0.2=down"},
		"draining":            {[]*join.Slice{slice("a", "10.0.0.1 +ready", "10.0.0.2 -ready +serving +terminating")}, "10.0.0.1=ready 10.0.0.2=draining"},
		"draining and failed": {[]*join.Slice{slice("a", "10.0.0.1 +ready", "10.0.0.2 -ready -serving +terminating")}, "10.0.0.1=ready 10.0.0.2=down"},
		"nothing ready":       {[]*join.Slice{slice("a", "10.0.0.1 -ready", "10.0.0.2 -ready +serving +terminating")}, "10.0.0.1=down 10.0.0.2=ready"},
		"nothing ready of one family": {
			[]*join.Slice{slice("a", "10.0.0.1 +ready", "10.0.0.2 -ready +terminating"), slice("b", "fd00::1 -ready", "fd00::2 -ready +terminating")},
			"10.0.0.1=ready 10.0.0.2=draining fd00::1=down fd00::2=ready",
		},
		"ready elsewhere":            {[]*join.Slice{slice("a", "10.0.0.1 -ready +terminating"), slice("b", "10.0.0.2")}, "10.0.0.1=draining 10.0.0.2=ready"},
		"twice, one terminates":      {[]*join.Slice{slice("a", "10.0.0.1 +ready"), slice("b", "10.0.0.1 -ready +terminating")}, "10.0.0.1=ready"},
		"twice, one is ready":        {[]*join.Slice{slice("a", "10.0.0.1 -ready -serving"), slice("b", "10.0.0.1 +ready")}, "10.0.0.1=ready"},
		"twice, none terminates not": {[]*join.Slice{slice("a", "10.0.0.1 -ready -serving +terminating"), slice("b", "10.0.0.1 -ready +terminating", "10.0.0.2")}, "10.0.0.1=draining 10.0.0.2=ready"},
		"twice in one slice":         {[]*join.Slice{slice("a", "10.0.0.1", "10.0.0.1 -ready")}, "10.0.0.1=down"},
		"twice in one, terminates":   {[]*join.Slice{slice("a", "10.0.0.1", "10.0.0.1 -ready +terminating")}, "10.0.0.1=ready"},
		"first of several addresses": {[]*join.Slice{slice("a", "10.0.0.1,10.0.0.9")}, "10.0.0.1=ready"},
		"leading zeros":              {[]*join.Slice{slice("a", "010.0.0.1")}, "10.0.0.1=ready"},
	} {
		t.Run(name, func(t *testing.T) {
			got := states(join.Join(service(), c.slices))
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			slices.Reverse(c.slices)
			if again := states(join.Join(service(), c.slices)); again != got {
				t.Errorf("in another order: got %s, want %s", again, got)
			}
		})
	}
}

func TestAFamilyThatTheServiceDoesNotHaveIsLeftOut(t *testing.T) {
	all := []*join.Slice{slice("a", "10.0.0.1"), slice("b", "fd00::1")}
	if got, want := states(join.Join(service(corev1.IPv6Protocol), all)), "fd00::1=ready"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := join.Join(join.ToService(&corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}}), all); got != nil {
		t.Errorf("got %v for an ExternalName, want nothing", got)
	}
}

func TestAnObjectSaysWhatServiceAndSliceSay(t *testing.T) {
	endpoints := join.Join(service(), []*join.Slice{slice("a", "fd00::1")})
	since := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	got := endpoints[0].Object(join.Key{Namespace: "shop", Name: "web"}, since)
	rounded := since.Truncate(time.Second)
	want := &views.EndpointView{
		APIVersion: "endpoints.ablmnzde.github.io/v1alpha1", Kind: "EndpointView",
		Metadata: views.Metadata{Namespace: "shop", Name: "web.http.fd00-0-0-0-0-0-0-1.8080"},
		Spec: views.EndpointViewSpec{
			ServicePort: views.ServicePort{ServiceName: "web", Type: "ClusterIP", PortName: "http", Port: 80, Protocol: "TCP", AppProtocol: "kubernetes.io/h2c"},
			Endpoint:    views.Endpoint{Address: "fd00::1", TargetPort: 8080, State: views.Ready, Since: &rounded},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryPortIsGatheredAlsoWithoutEndpoints(t *testing.T) {
	s := service()
	objects := make(map[string][]*views.EndpointView)
	for _, e := range join.Join(s, []*join.Slice{slice("a", "10.0.0.1", "10.0.0.2 -ready")}) {
		objects[e.Port.Name] = append(objects[e.Port.Name], e.Object(s.Key, time.Time{}))
	}
	gathered := make(map[string]*views.ServicePortView)
	for _, port := range s.Ports {
		gathered[port.Name] = join.Gather(s, port, objects[port.Name])
	}
	dns, http := gathered["dns"], gathered["http"]
	if len(gathered) != 2 || dns.Metadata.Name != "web.dns" || http.Metadata.Name != "web.http" {
		t.Fatalf("got %+v, want web.dns and web.http, and no other", gathered)
	}
	if got := dns.Spec.Endpoints; got == nil || len(got) != 0 {
		t.Errorf("got %v of the port without endpoints, want an empty list", got)
	}
	want := []views.Endpoint{{Address: "10.0.0.1", TargetPort: 8080, State: views.Ready}, {Address: "10.0.0.2", TargetPort: 8080, State: views.Down}}
	if diff := cmp.Diff(want, http.Spec.Endpoints); diff != "" {
		t.Error(diff)
	}
}

// endpoints draws the join of one Service.
func endpoints(t *rapid.T) []join.Endpoint {
	var all []*join.Slice
	for i := range rapid.IntRange(0, 3).Draw(t, "slices") {
		texts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("10.0.0.%d %s %s", rapid.IntRange(1, 6).Draw(t, "address"),
				rapid.SampledFrom([]string{"+ready", "-ready"}).Draw(t, "ready"), rapid.SampledFrom([]string{"+terminating", "-terminating"}).Draw(t, "terminating"))
		}), 0, 4).Draw(t, "endpoints")
		all = append(all, slice(fmt.Sprint("s", i), texts...))
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return join.Join(service(), all)
}

func TestApplyingADiffLeadsToTheSecondJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := endpoints(t), endpoints(t)
		unchanged := slices.Clone(before)
		got := map[string]join.Endpoint{}
		for i := range before {
			got[join.Name("web", &before[i])] = before[i]
		}
		for _, change := range diff(before, after) {
			if change.After == nil {
				delete(got, join.Name("web", change.Before))
			} else {
				got[join.Name("web", change.After)] = *change.After
			}
		}
		want := map[string]join.Endpoint{}
		for i := range after {
			want[join.Name("web", &after[i])] = after[i]
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Error(diff)
		}
		if len(diff(after, after)) != 0 || !slices.Equal(before, unchanged) {
			t.Error("a join differs from itself, or Diff changed what it was given")
		}
	})
}

func TestNamesAreDNSNamesAndSayTheIdentity(t *testing.T) {
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`[a-z]([a-z0-9-]{0,61}[a-z0-9])?`)
		port := rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"http", "10-0-0-1", "8080"}), label).Draw(t, "port")
		bytes := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 1, 255}), 16, 16).Draw(t, "address")
		address := netip.AddrFrom16([16]byte(bytes))
		if rapid.Bool().Draw(t, "IPv4") {
			address = netip.AddrFrom4([4]byte(bytes[:4]))
		}
		e := join.Endpoint{Port: join.Port{Name: port}, Address: address, TargetPort: rapid.Int32Range(1, 65535).Draw(t, "target")}
		service := rapid.OneOf(rapid.SampledFrom([]string{"web", "web-1"}), label).Draw(t, "service")
		name := join.Name(service, &e)
		if faults := content.IsDNS1123Subdomain(name); len(faults) > 0 {
			t.Fatalf("%s: %v", name, faults)
		}
		identity := fmt.Sprint(service, "/", port, "/", address, "/", e.TargetPort)
		if other, taken := seen[name]; taken && other != identity {
			t.Fatalf("%s is the name of %s and of %s", name, other, identity)
		}
		seen[name] = identity
	})
}

func TestContract108AnotherWordAboutCertificatesIsAnotherService(t *testing.T) {
	of := func(annotations map[string]string) *join.Service {
		return join.ToService(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: annotations}})
	}
	says := map[string]string{join.AuthorityAnnotation: "PEM\n", join.ServerNameAnnotation: " worker.internal ", join.SkipVerifyAnnotation: "true"}
	all := of(says)
	if want := (join.TLS{Authorities: "PEM\n", ServerName: "worker.internal", Unchecked: true}); all.TLS != want {
		t.Errorf("got %+v, want %+v", all.TLS, want)
	}
	for name := range says {
		fewer := maps.Clone(says)
		delete(fewer, name)
		if all.Equal(of(fewer)) {
			t.Errorf("without %s it is the same Service", name)
		}
	}
	// Nothing but the word true leaves certificates unchecked.
	for _, text := range []string{"True", "yes", "1", ""} {
		if of(map[string]string{join.SkipVerifyAnnotation: text, join.AuthorityAnnotation: " \n"}).TLS.Said() {
			t.Errorf("%q is taken as a word about certificates", text)
		}
	}
}

// TestContract170OfAServiceAViewKeepsWhatCanCount: what is as long as can be counts, and of
// what is longer little is kept.
func TestContract170OfAServiceAViewKeepsWhatCanCount(t *testing.T) {
	of := func(annotations map[string]string, ports ...corev1.ServicePort) *join.Service {
		for name, value := range annotations { // as it is decoded
			annotations[name] = value[:min(len(value), join.MostOfAnnotation(name))]
		}
		return join.ToService(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: annotations}, Spec: corev1.ServiceSpec{Ports: ports},
		})
	}
	long := strings.Repeat("n", 63)
	for length, whole := range map[int]bool{32 << 10: true, 32<<10 + 1: false, 1 << 20: false} {
		text := strings.Repeat("A", length)
		got := of(map[string]string{join.AuthorityAnnotation: text, join.SkipVerifyAnnotation: "true"}).TLS
		// One that is too long refuses every certificate: it is never as if nothing were said.
		if !got.Said() || (got.Authorities == text) != whole || len(got.Authorities) > 32<<10 || got.Authorities == "" {
			t.Errorf("authorities of %d bytes: got %d, want them whole: %v", length, len(got.Authorities), whole)
		}
	}
	for length, want := range map[int]int{253: 253, 254: 254, 250_000: 254} {
		if got := of(map[string]string{join.ServerNameAnnotation: strings.Repeat("s", length)}).TLS.ServerName; len(got) != want {
			t.Errorf("a server name of %d bytes: got %d, want %d", length, len(got), want)
		}
	}
	var fleets []string
	for i := range 10_000 {
		fleets = append(fleets, fmt.Sprintf("edge/fleet-%d", i))
	}
	longest := long + "/" + long
	got := of(map[string]string{join.FleetsAnnotation: longest + "n, " + longest + "," + strings.Join(fleets, ",")}).Fleets
	if len(got) != 64 || got[0] != longest || got[1] != "edge/fleet-0" {
		t.Errorf("got %d fleets, of them %q, want 64 without the one that no fleet has as its name", len(got), got[:min(len(got), 2)])
	}
	var ports []corev1.ServicePort
	for i := range 9_000 {
		ports = append(ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(i + 1)})
	}
	if got := of(nil, ports...).Ports; len(got) != 256 || got[255].Name != "p255" {
		t.Errorf("got %d ports, want the first 256", len(got))
	}
}

// TestContract148WithoutRoomASliceSaysOfAnAddressOnlyWhatCounts, however often it mentions it.
func TestContract148WithoutRoomASliceSaysOfAnAddressOnlyWhatCounts(t *testing.T) {
	one := slice("s", "10.0.0.1")
	for name, c := range map[string]struct {
		mentions []string
		want     string
	}{
		"1,000 times":         {slices.Repeat([]string{"10.0.0.1"}, 1000), "10.0.0.1=ready"},
		"ready at last":       {[]string{"10.0.0.1 -ready +terminating", "10.0.0.1", "10.0.0.2"}, "10.0.0.1=ready"},
		"terminating at last": {[]string{"10.0.0.1", "10.0.0.1 -ready -serving +terminating"}, "10.0.0.1=ready"},
		"failed at last":      {[]string{"10.0.0.1", "10.0.0.1 -ready -serving"}, "10.0.0.1=down"},
		"terminating twice":   {[]string{"10.0.0.1 -ready -serving +terminating", "10.0.0.1 -ready +terminating"}, "10.0.0.1=down"},
		"no more":             {[]string{"10.0.0.2"}, ""},
	} {
		all := slice("s", c.mentions...)
		got := all.Within(one)
		if got.Size() > one.Size() {
			t.Errorf("%s: got %d bytes, want at most the %d of before", name, got.Size(), one.Size())
		}
		if text := states(join.Join(service(), []*join.Slice{got})); text != c.want {
			t.Errorf("%s: got %s, want %s", name, text, c.want)
		}
	}
}

// TestContract142ExplainNamesTheMentionThatCounts: one address is in two slices, ready in one
// and terminating in the other.
func TestContract142ExplainNamesTheMentionThatCounts(t *testing.T) {
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	leaving := "-ready +serving +terminating"
	first, second := slice("hl-1", "10.9.0.1 +ready"), slice("hl-2", "10.9.0.1 "+leaving, "10.9.0.2 "+leaving)
	alone := slice("hl-3", "10.9.0.3 "+leaving)
	const another, nothing = "another mention of the address counts, with ready=true serving=true terminating=false", "no endpoint of this family is ready"
	for _, c := range []struct {
		address string
		of      *join.Slice
		all     []*join.Slice
		state   string
		says    string
	}{
		{"10.9.0.1", first, []*join.Slice{first, second}, "ready", ""},
		{"10.9.0.1", second, []*join.Slice{first, second}, "ready", another},
		{"10.9.0.2", second, []*join.Slice{first, second}, "draining", ""},
		{"10.9.0.3", alone, []*join.Slice{alone}, "ready", nothing},
	} {
		got := join.Explain(netip.MustParseAddr(c.address), c.of, object, c.all, func(map[string]string) bool { return true })
		text := got[0]
		if !strings.Contains(text, c.address+" is "+c.state) {
			t.Errorf("%s in %s: got %q, want %s", c.address, c.of.Name, text, c.state)
		}
		for _, reason := range []string{another, nothing} {
			if strings.Contains(text, reason) != (reason == c.says) {
				t.Errorf("%s in %s: got %q, want the reason %q", c.address, c.of.Name, text, c.says)
			}
		}
	}
}

// TestContract38APortWithTheNumber0CountsForNothing: kube-proxy leaves it out. A number that is none
// of a port makes a proxy reject the answer that has it, with the endpoints of every other Service.
func TestContract38APortWithTheNumber0CountsForNothing(t *testing.T) {
	for _, number := range []int32{0, -1, 65536} {
		object := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "s", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: &number}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		}
		if got := join.Join(service(), []*join.Slice{join.ToSlice(object)}); len(got) > 0 {
			t.Errorf("port %d: got %v, want no endpoint", number, got)
		}
	}
}

// TestContract148PortsThatNoSliceHasCostNothing: a join takes memory for what there is.
func TestContract148PortsThatNoSliceHasCostNothing(t *testing.T) {
	var ports []corev1.ServicePort
	for i := range 256 {
		ports = append(ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(i + 1)})
	}
	ports[0].Name = "http"
	of := join.ToService(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{Ports: ports}})
	var texts []string
	for i := range 10_000 {
		texts = append(texts, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	all := []*join.Slice{slice("s", texts...)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := join.Join(of, all)
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; len(got) != len(texts) || used > 16 {
		t.Errorf("got %d endpoints for %d MiB, want %d for 16 MiB at the most", len(got), used, len(texts))
	}
}

// change is what became of one endpoint between two joins of a Service.
type change struct {
	// Before is nil for an endpoint that is new, After for one that is gone.
	Before, After *join.Endpoint
}

// diff returns what changed between two joins, in their order. It points into both.
func diff(before, after []join.Endpoint) []change {
	var changes []change
	join.Merge(before, after, func(i, j int) {
		switch {
		case j == join.None:
			changes = append(changes, change{Before: &before[i]})
		case i == join.None:
			changes = append(changes, change{After: &after[j]})
		case before[i] != after[j]:
			changes = append(changes, change{Before: &before[i], After: &after[j]})
		}
	})
	return changes
}
