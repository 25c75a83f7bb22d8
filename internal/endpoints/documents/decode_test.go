package documents_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

const version = "apiVersion: endpoints.ablmnzde.github.io/v1alpha1\n"

// full is one document of each kind with nearly every field.
const full = version + `kind: EndpointPool
metadata: {name: blue, labels: {team: platform}}
spec:
  source:
    ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 2, clusterID: 8feda53f-15f0-447f-badf-ebe32dad2fc1}
  credentials: blue
  subnets: [10.7.0.0/24, "fd00:10::/64"]
  pollInterval: 30s
  allow:
  - {namespaces: [shop, blog], ports: ["30080", "31000-31999"], remoteNamespaces: [shop], maxServices: 5}
  - namespaceSelector: {matchLabels: {platform.example.org/tier: gold}}
    ports: ["30443"]
  healthCheck: {mode: HTTP, port: 10256, path: "/healthz?verbose", interval: 2s, timeout: 1s, rise: 2, fall: 3}
  guard: {maxRemovalPercent: 50, emptyResultThreshold: 0, failOpen: false, drainPeriod: 30s}
  releaseAfter: 10m
---
` + version + `kind: EndpointBinding
metadata: {name: web, namespace: shop}
spec:
  pools: [{name: blue, remoteService: {namespace: shop, name: web}}]
  ports: [{name: http, port: 30080}]
  healthCheck: {mode: HTTP, path: /ready, host: web.example.org, expectedStatus: "200-299"}
  mode: Publish
  adopt: web-remote
`

// mistakes returns those of all documents as lines.
func mistakes(found []documents.Document) []string {
	lines := []string{}
	for _, d := range found {
		for _, m := range d.Mistakes {
			lines = append(lines, m.Error())
		}
	}
	return lines
}

func TestSoundDocumentsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	found := documents.Decode("a.yaml", []byte(full))
	if diff := cmp.Diff([]string{}, mistakes(found)); diff != "" {
		t.Fatal(diff)
	}
	pool, binding := found[0].Pool, found[1].Binding
	if got := *pool.Spec.Guard.MaxSilentPercent; got != v1alpha1.DefaultMaxSilentPercent {
		t.Errorf("got maxSilentPercent %d, want the default", got)
	}
	if *pool.Spec.Guard.EmptyResultThreshold != 0 || *pool.Spec.Guard.FailOpen || *pool.Spec.Allow[0].MaxServices != 5 || *pool.Spec.Allow[0].MaxChecks != 2000 {
		t.Errorf("what is set was changed: %+v", pool.Spec)
	}
	if binding.Spec.Ports[0].Protocol != v1alpha1.ProtocolTCP || binding.Spec.Adopt != "web-remote" {
		t.Errorf("got %+v", binding.Spec)
	}
	if found[1].Key.String() != "EndpointBinding shop/web" || found[1].Line != 18 || found[0].Key.String() != "EndpointPool blue" {
		t.Errorf("got %v at line %d", found[1].Key, found[1].Line)
	}
}

func TestYAMLAndJSONAreTheSame(t *testing.T) {
	t.Parallel()
	want := documents.Decode("a", []byte(full))
	for i, text := range strings.Split(full, "---\n") {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := documents.Decode("a", data)
		if len(got) != 1 {
			t.Fatalf("got %v", mistakes(got))
		}
		got[0].Line = want[i].Line
		if diff := cmp.Diff(want[i], got[0]); diff != "" {
			t.Errorf("JSON differs (-yaml +json):\n%s", diff)
		}
	}
}

func TestWhatIsDecodedIsReadAgainAsTheSame(t *testing.T) {
	t.Parallel()
	for _, d := range documents.Decode("a", []byte(full)) {
		var object any = d.Pool
		if d.Binding != nil {
			object = d.Binding
		}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		again := documents.Decode("a", data)
		again[0].Line = d.Line
		if diff := cmp.Diff(d, again[0]); diff != "" {
			t.Error(diff)
		}
	}
}

// pool and binding make a document of fields of its spec.
func pool(spec string) string {
	return version + "kind: EndpointPool\nmetadata: {name: blue}\nspec:\n" + indent(spec)
}

func binding(spec string) string {
	return version + "kind: EndpointBinding\nmetadata: {name: web, namespace: shop}\nspec:\n" + indent(spec)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

// sound is a spec of a pool that lacks nothing.
const sound = "source: {static: {nodes: [{name: w1, addresses: [10.7.0.11]}]}}\nsubnets: [10.7.0.0/24]\n"

// remote is a pool whose source has a kubeconfig.
const remote = "source: {kubernetes: {}}\ncredentials: a\nsubnets: [10.7.0.0/24]\n"

func TestContract46EachRuleSaysPlaceFieldRuleAndRemedy(t *testing.T) {
	t.Parallel()
	const p, b = "EndpointPool blue ", "EndpointBinding shop/web "
	tests := []struct{ name, text, want string }{
		{"no YAML", "a: [", `f:1: is not YAML or JSON (did not find expected node content); correct the line or the one before it`},
		{"no document", "- 1", "f:1: is not a document: it is a list; write apiVersion, kind, metadata and spec"},
		{"kind", version + "kind: EndpointPol\nmetadata: {name: x}", `f:2: kind="EndpointPol": is not one of EndpointPool or EndpointBinding; did you mean EndpointPool?`},
		{"what kubectl get -o yaml prints", "apiVersion: v1\nkind: List\nitems: []\nmetadata: {resourceVersion: \"\"}", `f:2: kind="List": is not one of EndpointPool or EndpointBinding; put each item of the list into a document of its own, with --- between them`},
		{"a list of one kind", version + "kind: EndpointPoolList\nitems: []", `kind="EndpointPoolList": is not one of EndpointPool or EndpointBinding; put each item of the list into a document of its own`},
		{"an empty kind", version + "kind: ''\nmetadata: {name: x}", "f:2: kind: is not one of EndpointPool or EndpointBinding; did you mean EndpointPool?"},
		{"an empty version", strings.Replace(pool(sound), "endpoints.ablmnzde.github.io/v1alpha1", "''", 1), "f:1: " + p + "apiVersion: is not endpoints.ablmnzde.github.io/v1alpha1; write endpoints"},
		{"no kind", version + "metadata: {name: x}", "f:1: kind: is required and not set; write EndpointPool or EndpointBinding"},
		{"version", strings.Replace(pool(sound), "v1alpha1", "v1", 1), `f:1: ` + p + `apiVersion="endpoints.ablmnzde.github.io/v1": is not endpoints.ablmnzde.github.io/v1alpha1; write endpoints.ablmnzde.github.io/v1alpha1`},
		{"no name", strings.Replace(pool(sound), "name: blue", "", 1), "f:3: metadata.name: is required and not set; give the pool a name"},
		{"dotted name", strings.Replace(pool(sound), "name: blue", "name: a.b", 1), `f:3: EndpointPool a.b metadata.name="a.b": is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends); write for example a-b`},
		{"number as name", strings.Replace(pool(sound), "name: blue", "name: 17", 1), `f:3: metadata.name: is a number, not text; write "17" with quotes`},
		{"long name", strings.Replace(pool(sound), "name: blue", "name: "+strings.Repeat("a", 41), 1), "has more than 40 characters"},
		{"namespace of a pool", strings.Replace(pool(sound), "name: blue", "name: blue, namespace: x", 1), "is set, and a pool belongs to no namespace; remove it"},
		{"no namespace", strings.Replace(binding("pools: [{name: blue}]"), ", namespace: shop", "", 1), "metadata.namespace: is required and not set; write the namespace of the Service"},
		{"no spec", version + "kind: EndpointPool\nmetadata: {name: blue}", "f:1: " + p + "spec: is required and not set; write spec.source and spec.subnets"},
		{"metadata", strings.Replace(pool(sound), "name: blue", "name: blue, lables: {}", 1), "f:3: " + p + "metadata.lables: is not a field; did you mean labels?"},
		{"top", pool(sound) + "specs: {}", "f:7: " + p + "specs: is not a field; did you mean spec?"},

		{"no source", pool("subnets: [10.0.0.0/24]"), "f:5: " + p + "spec.source: is required and not set; write one of kubernetes"},
		{"two sources", pool("source:\n  kubernetes: {}\n  file: {path: /x}\nsubnets: [10.0.0.0/24]\ncredentials: a"), "f:6: " + p + "spec.source: has kubernetes and file; keep one of them"},
		{"unknown source", pool("source: {kubernets: {}}\nsubnets: [10.0.0.0/24]"), "f:5: " + p + "spec.source.kubernets: is not a field; did you mean kubernetes?"},
		{"no credentials", pool("source: {kubernetes: {}}\nsubnets: [10.0.0.0/24]"), "spec.credentials: is required and not set; write the name of the folder below CREDENTIALS_DIR"},
		{"path as credentials", pool(sound + "credentials: ../etc"), `spec.credentials="../etc": is not a DNS label`},
		{"a credential", pool(sound + "token: geheim"), "f:7: " + p + "spec.token: is not a field: a document holds no credential and no path to one; name a folder"},
		{"an address of an API", pool("source: {ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 2, apiURL: https://evil}}\ncredentials: b\nsubnets: [10.0.0.0/24]"), "a document cannot say where a credential is sent"},
		{"uuid", pool("source: {ionos: {datacenterID: x, lanID: 2}}\ncredentials: b\nsubnets: [10.0.0.0/24]"), `spec.source.ionos.datacenterID="x": is not a UUID`},
		{"lan", pool("source: {ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 0}}\ncredentials: b\nsubnets: [10.0.0.0/24]"), `spec.source.ionos.lanID="0": is outside 1 to 2147483647`},
		{"no lan", pool("source: {ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0}}\ncredentials: b\nsubnets: [10.0.0.0/24]"), "spec.source.ionos.lanID: is required and not set"},
		{"selector", pool("source: {kubernetes: {nodeSelector: 'a=('}}\ncredentials: b\nsubnets: [10.0.0.0/24]"), `spec.source.kubernetes.nodeSelector="a=(": is not a label selector`},
		{"node twice", pool("source: {static: {nodes: [{name: a, addresses: [10.0.0.1]}, {name: a, addresses: [10.0.0.2]}]}}\nsubnets: [10.0.0.0/24]"), `spec.source.static.nodes[1].name="a": is the name of another node of the list`},
		{"address", pool("source: {static: {nodes: [{name: a, addresses: [10.0.0]}]}}\nsubnets: [10.0.0.0/24]"), `spec.source.static.nodes[0].addresses[0]="10.0.0": is not an IP address`},
		{"no path", pool("source: {file: {}}\nsubnets: [10.0.0.0/24]"), "spec.source.file.path: is required and not set"},

		{"no subnets", pool("source: {file: {path: /x}}"), "spec.subnets: is required and not set"},
		{"empty subnets", pool("source: {file: {path: /x}}\nsubnets: []"), "f:6: " + p + "spec.subnets: has 0 entries, fewer than 1; add one"},
		{"many subnets", pool("source: {file: {path: /x}}\nsubnets: [" + strings.Repeat("10.0.0.0/24,", 17) + "]"), "has 17 entries, more than 16"},
		{"everything", pool("source: {file: {path: /x}}\nsubnets: [0.0.0.0/0]"), `spec.subnets[0]="0.0.0.0/0": is larger than /8; name the ranges of the nodes`},
		{"everything in IPv6", pool("source: {file: {path: /x}}\nsubnets: ['fd00::/16']"), `spec.subnets[0]="fd00::/16": is larger than /32`},
		{"host bits", pool("source: {file: {path: /x}}\nsubnets: [10.0.0.1/24]"), `spec.subnets[0]="10.0.0.1/24": 10.0.0.1/24 has bits set after its prefix; write 10.0.0.0/24`},
		{"a NUL for a program", pool(`source: {command: {path: sh, args: [-c, "a\0"]}}` + "\nsubnets: [10.7.0.0/24]"), "spec.source.command.args[1]: holds a NUL; remove it"},
		{"metadata", pool("source: {file: {path: /x}}\nsubnets: [169.254.169.254/32]"), `contains a cloud metadata address, which is never published`},
		{"metadata of Azure", pool("source: {file: {path: /x}}\nsubnets: [168.63.0.0/16]"), `contains a cloud metadata address, which is never published; name smaller ranges, without it`},
		{"loopback", pool("source: {file: {path: /x}}\nsubnets: [127.0.0.0/8]"), `contains a loopback address`},
		{"multicast", pool("source: {file: {path: /x}}\nsubnets: [224.0.0.0/8]"), `contains a multicast address`},
		{"link-local", pool("source: {file: {path: /x}}\nsubnets: ['fe80::/64']"), `contains a link-local address`},
		{"subnet twice", pool("source: {file: {path: /x}}\nsubnets: [10.0.0.0/24, 10.0.0.0/24]"), `spec.subnets[1]="10.0.0.0/24": is in the list twice`},

		{"allow without ports", pool(sound + "allow: [{namespaces: [shop]}]"), "spec.allow[0].ports: is required and not set"},
		{"allow for all", pool(sound + `allow: [{ports: ["80"]}]`), "spec.allow[0].namespaces: is required and not set; write namespaces or namespaceSelector"},
		{"allow both", pool(sound + `allow: [{namespaces: [a], namespaceSelector: {matchLabels: {a: b}}, ports: ["80"]}]`), "spec.allow[0]: has both namespaces and namespaceSelector; make two entries of it"},
		{"empty selector", pool(sound + `allow: [{namespaceSelector: {}, ports: ["80"]}]`), "spec.allow[0].namespaceSelector: is empty, which would allow every namespace"},
		{"wrong selector", pool(sound + `allow: [{namespaceSelector: {matchExpressions: [{key: a, operator: Is}]}, ports: ["80"]}]`), "is not a label selector"},
		{"number as port", pool(sound + `allow: [{namespaces: [a], ports: [30080]}]`), `spec.allow[0].ports[0]="30080": is a number, not text; write "30080" with quotes`},
		{"reversed ports", pool(sound + `allow: [{namespaces: [a], ports: [90-80]}]`), `spec.allow[0].ports[0]="90-80": 90-80 ends before it begins; write 80-90`},
		{"large port", pool(sound + `allow: [{namespaces: [a], ports: ["65536"]}]`), `spec.allow[0].ports[0]="65536": "65536" is not a port from 1 to 65535 or a range of them`},
		{"namespace", pool(sound + `allow: [{namespaces: ["*"], ports: ["80"]}]`), `spec.allow[0].namespaces[0]="*": is not a DNS label`},
		{"old quota", pool(sound + `allow: [{namespaces: [a], ports: ["80"], maxTargets: 5}]`), "spec.allow[0].maxTargets: is not a field; remove it; the fields here are maxChecks, maxServices, namespaceSelector, namespaces, ports, remoteNamespaces"},
		{"quota", pool(sound + `allow: [{namespaces: [a], ports: ["80"], maxServices: 0}]`), `spec.allow[0].maxServices="0": is outside 1 to 10000`},
		{"checks", pool(sound + `allow: [{namespaces: [a], ports: ["80"], maxChecks: 20001}]`), `spec.allow[0].maxChecks="20001": is outside 1 to 20000`},

		{"remote namespace", pool(remote + `allow: [{namespaces: [a], ports: ["80"], remoteNamespaces: ["*"]}]`), `spec.allow[0].remoteNamespaces[0]="*": is not a DNS label`},
		{"many remote namespaces", pool(remote + `allow: [{namespaces: [a], ports: ["80"], remoteNamespaces: [` + strings.Repeat("a,", 65) + `]}]`), "spec.allow[0].remoteNamespaces: has 65 entries, more than 64"},
		{"no kubeconfig", pool(sound + `allow: [{namespaces: [a], ports: ["80"], remoteNamespaces: [a]}]`), "spec.allow[0].remoteNamespaces: is set, and the source has no kubeconfig by which a remote Service could be followed; remove it, or use the source kubernetes or ionos"},

		{"off", pool(sound + "healthCheck: {mode: off}"), `spec.healthCheck.mode="off": is not one of None, TCP, HTTP or HTTPS; write None`},
		{"false", pool(sound + "healthCheck: {mode: false}"), `spec.healthCheck.mode="false": is true or false, not text; write "false" with quotes`},
		{"lower case", pool(sound + "healthCheck: {mode: https}"), `spec.healthCheck.mode="https": is not one of None, TCP, HTTP or HTTPS; write HTTPS`},
		{"timeout", pool(sound + "healthCheck: {interval: 1s, timeout: 2s}"), `spec.healthCheck.timeout="2s": is longer than the interval (1s); write at most 1s`},
		{"interval", pool(sound + "healthCheck: {interval: 1ms}"), `spec.healthCheck.interval="1ms": is outside 100ms to 1h`},
		{"unit", pool(sound + "healthCheck: {interval: 2}"), `spec.healthCheck.interval="2": is a duration without a unit; write 2s`},
		{"path with TCP", pool(sound + "healthCheck: {path: /x}"), "spec.healthCheck.path: has no effect with mode TCP; set mode to HTTP or HTTPS, or remove it"},
		{"TLS with HTTP", pool(sound + "healthCheck: {mode: HTTP, tlsInsecure: true}"), "spec.healthCheck.tlsInsecure: has no effect with mode HTTP; set mode to HTTPS"},
		{"host with port", pool(sound + "healthCheck: {mode: HTTP, host: 'a:80'}"), `is not a host name or IP address; write a; spec.healthCheck.port sets the port`},
		{"percent", pool(sound + "guard: {maxRemovalPercent: 30%}"), `spec.guard.maxRemovalPercent="30%": is not a whole number; write 30`},
		{"octal", pool(sound + "guard: {maxRemovalPercent: 010}"), `spec.guard.maxRemovalPercent="010": is not a whole number`},
		{"huge", pool(sound + "guard: {maxRemovalPercent: 99999999999}"), "is beyond what the field can hold"},
		{"yes", pool(sound + "guard: {failOpen: yes}"), `spec.guard.failOpen="yes": is neither true nor false`},
		{"key twice", pool(sound + "releaseAfter: 1m\nreleaseAfter: 2m"), "f:8: " + p + "spec.releaseAfter: is set twice; remove one of them"},
		{"list as group", pool(sound + "guard: [1]"), "spec.guard: is a list, not a group of fields"},
		{"text as list", pool("source: {file: {path: /x}}\nsubnets: 10.0.0.0/24"), "spec.subnets: is text, not a list"},
		{"merge", pool(sound + "guard: {<<: {failOpen: true}}"), "spec.guard.<<: is a merge key; write the fields themselves"},
		{"empty entry", pool("source: {file: {path: /x}}\nsubnets:\n- 10.0.0.0/24\n-"), "f:8: " + p + "spec.subnets[1]: is an empty entry"},

		{"no pools", binding("mode: Publish"), "f:5: " + b + "spec.pools: is required and not set"},
		{"five pools", binding("pools: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}]"), "spec.pools: has 5 entries, more than 4"},
		{"pool twice", binding("pools: [{name: a}, {name: a}]"), `spec.pools[1].name="a": is in the list twice`},
		{"pool without name", binding("pools: [{}]"), "spec.pools[0].name: is required and not set"},
		{"long pool", binding("pools: [{name: " + strings.Repeat("a", 41) + "}]"), "has more than 40 characters; write the name of a pool: it has at most 40 characters"},
		{"a field of a pool", binding("pools: [{name: a, colour: red}]"), "spec.pools[0].colour: is not a field; remove it; the fields here are name, remoteService"},
		{"remote Service without namespace", binding("pools: [{name: a, remoteService: {name: web}}]"), "spec.pools[0].remoteService.namespace: is required and not set"},
		{"remote Service without name", binding("pools: [{name: a, remoteService: {namespace: shop}}]"), "spec.pools[0].remoteService.name: is required and not set"},
		{"remote Service as text", binding("pools: [{name: a, remoteService: shop/web}]"), "spec.pools[0].remoteService: is text, not a group of fields"},
		{"name of a remote Service", binding("pools: [{name: a, remoteService: {namespace: shop, name: a.b}}]"), `spec.pools[0].remoteService.name="a.b": is not a DNS label`},
		{"namespace of a remote Service", binding("pools: [{name: a, remoteService: {namespace: '', name: a}}]"), `spec.pools[0].remoteService.namespace: is not a DNS label`},
		{"old pool", binding("pools: [blue]"), "f:5: " + b + "spec.pools: is a list of names, and each pool is a group of fields; write pools: [{name: blue}]"},
		{"old pools", binding("pools:\n- blue\n- green"), "spec.pools: is a list of names, and each pool is a group of fields; write pools: [{name: blue}, {name: green}]"},
		{"old numbers", binding("pools: [1, A b]"), `write pools: [{name: "1"}, {name: "A b"}]`},
		{"half old", binding("pools: [{name: a}, blue]"), "spec.pools[1]: is text, not a group of fields"},
		{"an address", binding("pools: [{name: a}]\naddresses: [10.0.0.1]"), "spec.addresses: is not a field; remove it; the fields here are adopt, healthCheck, mode, pools, ports"},
		{"a subnet", binding("pools: [{name: a}]\nsubnets: [10.0.0.0/8]"), "spec.subnets: is not a field; remove it"},
		{"a program", binding("pools: [{name: a}]\nsource: {command: {path: sh}}"), "spec.source: is not a field"},
		{"an interval", binding("pools: [{name: a}]\nhealthCheck: {interval: 1s}"), "spec.healthCheck.interval: is not a field"},
		{"port without number", binding("pools: [{name: a}]\nports: [{name: http}]"), "spec.ports[0].port: is required and not set"},
		{"port", binding("pools: [{name: a}]\nports: [{port: 70000}]"), `spec.ports[0].port="70000": is outside 1 to 65535`},
		{"protocol", binding("pools: [{name: a}]\nports: [{port: 53, protocol: udp}]"), `spec.ports[0].protocol="udp": is not one of TCP, UDP or SCTP; write UDP`},
		{"ports without name", binding("pools: [{name: a}]\nports: [{port: 1}, {port: 2, name: b}]"), "spec.ports[0].name: is required and not set"},
		{"port name twice", binding("pools: [{name: a}]\nports: [{port: 1, name: b}, {port: 2, name: b}]"), `spec.ports[1].name="b": is the name of another port`},
		{"port twice", binding("pools: [{name: a}]\nports: [{port: 1, name: a}, {port: 1, name: b}]"), `spec.ports[1]: is 1/TCP again`},
		{"query", binding("pools: [{name: a}]\nhealthCheck: {mode: HTTP, path: '/a?b'}"), `spec.healthCheck.path="/a?b": holds a query; write the path alone`},
		{"long path", binding("pools: [{name: a}]\nhealthCheck: {mode: HTTP, path: /" + strings.Repeat("a", 256) + "}"), "has more than 256 characters"},
		{"status", binding("pools: [{name: a}]\nhealthCheck: {mode: HTTP, expectedStatus: 2xx}"), `spec.healthCheck.expectedStatus="2xx":`},
		{"which port", binding("pools: [{name: a}]\nports: [{port: 1, name: a}, {port: 2, name: b}]\nhealthCheck: {mode: TCP}"), "spec.healthCheck.port: is required and not set; write the TCP port to check: spec.ports has 2 of them"},
		{"mode", binding("pools: [{name: a}]\nmode: Dryrun"), `spec.mode="Dryrun": is not one of Publish or DryRun; write DryRun`},
		{"adopt", binding("pools: [{name: a}, {name: b}]\nadopt: web-remote"), "is set with several pools, and a slice belongs to one"},
		{"adopt a wrong name", binding("pools: [{name: a}]\nadopt: A_B"), `spec.adopt="A_B": is not a DNS name`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := mistakes(documents.Decode("f", []byte(test.text)))
			if len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("got %q, want one mistake with %q", got, test.want)
			}
		})
	}
}

func TestContract46AllMistakesOfAllDocumentsAreReportedTogether(t *testing.T) {
	t.Parallel()
	text := pool("source: {kubernetes: {nodeSelctor: a}}\nsubnets: [10.0.0.1/24, 127.0.0.0/8]\nguard: {failOpen: maybe, maxRemovalPercent: 101}") +
		"---\n" + binding("pools: []\nports: [{port: 0}]")
	found := documents.Decode("f", []byte(text))
	if got := mistakes(found); len(got) != 8 {
		t.Errorf("got %d mistakes, want 8:\n%s", len(got), strings.Join(got, "\n"))
	}
	for _, d := range found {
		if d.Pool != nil || d.Binding != nil || d.Key.Name == "" {
			t.Errorf("%v has mistakes and a value", d.Key)
		}
	}
}

func TestWhatTheAPIServerAddsIsIgnored(t *testing.T) {
	t.Parallel()
	text := strings.Replace(pool(sound), "name: blue", `name: blue, uid: x, resourceVersion: "1", generation: 2, creationTimestamp: 2026-01-01T00:00:00Z, managedFields: [{}]`, 1) +
		"status: {nodes: 3}\n"
	if got := mistakes(documents.Decode("f", []byte(text))); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestContract46AValueThatMayBeASecretIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		pool(sound + "token: geheim"), pool(sound + "credentials: {token: geheim}"), pool("source: {ionos: {password: geheim}}\nsubnets: [10.0.0.0/24]"),
		"geheim: [", "geheim", "a: !geheim b: c: *geheim",
	} {
		for _, line := range mistakes(documents.Decode("f", []byte(text))) {
			if strings.Contains(line, "geheim") {
				t.Errorf("%q repeats it: %s", text, line)
			}
		}
	}
}

func TestAliasesCountAsWhatTheyStandFor(t *testing.T) {
	t.Parallel()
	bomb := pool(sound + "allow:\n- {namespaces: &n [" + strings.Repeat("a,", 200) + "], ports: &p [" + strings.Repeat(`"1",`, 5000) + "]}\n" +
		strings.Repeat("- {namespaces: *n, ports: *p}\n", 100))
	got := mistakes(documents.Decode("f", []byte(bomb)))
	if !strings.Contains(strings.Join(got, "\n"), "has too many values") {
		t.Errorf("got %d mistakes, want one about the number of values", len(got))
	}
	fine := pool("source: {static: {nodes: [{name: a, addresses: &a [10.0.0.1]}, {name: b, addresses: *a}]}}\nsubnets: [10.0.0.0/24]")
	if got := mistakes(documents.Decode("f", []byte(fine))); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

// TestAliasesOfWhatIsNoFieldCount: with names that are no fields, the same twice, and empty
// entries a few KB would take minutes.
func TestAliasesOfWhatIsNoFieldCount(t *testing.T) {
	var unknown strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&unknown, "x%d: 1, ", i)
	}
	for name, first := range map[string]string{
		"no fields":     "{" + unknown.String() + "}",
		"set twice":     "{" + strings.Repeat("ports: [], ", 2000) + "}",
		"merge keys":    "{" + strings.Repeat("<<: 1, ", 2000) + "}",
		"empty entries": "{ports: [" + strings.Repeat("null, ", 2000) + "]}",
	} {
		text := pool(sound + "allow: [&a " + first + strings.Repeat(", *a", 2000) + "]\n")
		allocated := testing.AllocsPerRun(1, func() {
			if got := mistakes(documents.Decode("f", []byte(text))); len(got) != 100 {
				t.Errorf("%s: got %d mistakes, want the first 100", name, len(got))
			}
		})
		if allocated > 2_000_000 { // of 4 million entries
			t.Errorf("%s: %.0f allocations", name, allocated)
		}
	}
}

func TestAFileHasALimit(t *testing.T) {
	t.Parallel()
	got := mistakes(documents.Decode("f", make([]byte, documents.MaxFileBytes+1)))
	if len(got) != 1 || got[0] != "f: holds more than 1 MiB; split it into several files" {
		t.Errorf("got %q", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(pool(sound + "guard: {failOpen: maybe}")))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("apiVersion: [\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range documents.Decode("f", data) {
			if (d.Pool == nil && d.Binding == nil) != (len(d.Mistakes) > 0) {
				t.Fatalf("%v: a document is sound or has mistakes, got %v", d.Key, d.Mistakes)
			}
			if d.Pool == nil && d.Binding == nil {
				continue
			}
			var object any = d.Pool
			if d.Binding != nil {
				object = d.Binding
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			again := documents.Decode("f", text)
			if len(again) != 1 || len(again[0].Mistakes) > 0 || again[0].Key != d.Key {
				t.Fatalf("%s\nis read again with %v", text, mistakes(again))
			}
		}
	})
}
