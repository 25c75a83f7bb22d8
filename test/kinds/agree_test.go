package kinds_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

const head = "apiVersion: endpoints.ablmnzde.github.io/v1alpha1\n"

func pool(spec string) string {
	return head + "kind: EndpointPool\nmetadata: {name: blue}\nspec:\n" + indent(spec)
}

func binding(spec string) string {
	return head + "kind: EndpointBinding\nmetadata: {name: web, namespace: shop}\nspec:\n" + indent(spec)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

const (
	static = "source: {static: {nodes: [{name: w1, addresses: [10.7.0.11]}]}}\n"
	// sound is a spec of a pool that lacks nothing.
	sound = static + "subnets: [10.7.0.0/24]\n"
	// remote is one whose source has a kubeconfig.
	remote = "source: {kubernetes: {}}\ncredentials: b\nsubnets: [10.7.0.0/24]\n"
	uuid   = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
)

func ionos(fields string) string {
	return pool("source: {ionos: {" + fields + "}}\ncredentials: b\nsubnets: [10.0.0.0/24]")
}

func selecting(selector string) string {
	return pool("source: {kubernetes: {nodeSelector: '" + selector + "'}}\ncredentials: b\nsubnets: [10.0.0.0/24]")
}

func nodes(list string) string {
	return pool("source: {static: {nodes: [" + list + "]}}\nsubnets: [10.0.0.0/24]")
}

func subnets(list string) string { return pool(static + "subnets: [" + list + "]") }

func allow(entry string) string { return pool(sound + "allow: [" + entry + "]") }

func check(fields string) string { return pool(sound + "healthCheck: {" + fields + "}") }

func guard(fields string) string { return pool(sound + "guard: {" + fields + "}") }

func ports(list string) string { return binding("pools: [{name: a}]\nports: [" + list + "]") }

func bindingCheck(fields string) string {
	return binding("pools: [{name: a}]\nhealthCheck: {" + fields + "}")
}

// refused are documents with one mistake, and the field that both name. Where the API
// server can only name the field around it, that is the second.
var refused = map[string]struct{ text, field, around string }{
	"dotted name":           {strings.Replace(pool(sound), "name: blue", "name: a.b", 1), "metadata.name", ""},
	"long name":             {strings.Replace(pool(sound), "name: blue", "name: "+strings.Repeat("a", 41), 1), "metadata.name", ""},
	"a long Service":        {strings.Replace(binding("pools: [{name: a}]"), "name: web", "name: "+strings.Repeat("a", 64), 1), "metadata.name", ""},
	"no spec":               {head + "kind: EndpointPool\nmetadata: {name: blue}", "spec", ""},
	"no source":             {pool("subnets: [10.0.0.0/24]"), "spec.source", ""},
	"empty source":          {pool("source: {}\nsubnets: [10.0.0.0/24]"), "spec.source", ""},
	"two sources":           {pool("source: {kubernetes: {}, static: {nodes: [{name: w1, addresses: [10.7.0.11]}]}}\nsubnets: [10.0.0.0/24]\ncredentials: a"), "spec.source", ""},
	"unknown source":        {pool("source: {kubernets: {}}\nsubnets: [10.0.0.0/24]"), "spec.source.kubernets", ""},
	"no credentials":        {pool("source: {kubernetes: {}}\nsubnets: [10.0.0.0/24]"), "spec.credentials", ""},
	"empty credentials":     {pool("source: {kubernetes: {}}\ncredentials: ''\nsubnets: [10.0.0.0/24]"), "spec.credentials", ""},
	"path as credentials":   {pool(sound + "credentials: ../etc"), "spec.credentials", ""},
	"a credential":          {pool(sound + "token: geheim"), "spec.token", ""},
	"an address of an API":  {ionos("datacenterID: " + uuid + ", lanID: 2, apiURL: https://evil"), "spec.source.ionos.apiURL", ""},
	"uuid":                  {ionos("datacenterID: x, lanID: 2"), "spec.source.ionos.datacenterID", ""},
	"empty uuid":            {ionos("datacenterID: '', lanID: 2"), "spec.source.ionos.datacenterID", ""},
	"no uuid":               {ionos("lanID: 2"), "spec.source.ionos.datacenterID", ""},
	"cluster":               {ionos("datacenterID: " + uuid + ", lanID: 2, clusterID: x"), "spec.source.ionos.clusterID", ""},
	"lan":                   {ionos("datacenterID: " + uuid + ", lanID: 0"), "spec.source.ionos.lanID", ""},
	"huge lan":              {ionos("datacenterID: " + uuid + ", lanID: 2147483648"), "spec.source.ionos.lanID", ""},
	"no lan":                {ionos("datacenterID: " + uuid), "spec.source.ionos.lanID", ""},
	"selector":              {selecting("a=("), "spec.source.kubernetes.nodeSelector", ""},
	"selector of operators": {selecting("a like b"), "spec.source.kubernetes.nodeSelector", ""},
	"no nodes":              {nodes(""), "spec.source.static.nodes", ""},
	"node twice":            {nodes("{name: a, addresses: [10.0.0.1]}, {name: a, addresses: [10.0.0.2]}"), "spec.source.static.nodes[1].name", "spec.source.static.nodes[1]"},
	"node without a name":   {nodes("{addresses: [10.0.0.1]}"), "spec.source.static.nodes[0].name", ""},
	"name of a node":        {nodes("{name: 'a b', addresses: [10.0.0.1]}"), "spec.source.static.nodes[0].name", ""},
	"no addresses":          {nodes("{name: a}"), "spec.source.static.nodes[0].addresses", ""},
	"empty addresses":       {nodes("{name: a, addresses: []}"), "spec.source.static.nodes[0].addresses", ""},
	"address":               {nodes("{name: a, addresses: [10.0.0]}"), "spec.source.static.nodes[0].addresses[0]", ""},
	"address with a zone":   {nodes("{name: a, addresses: ['fe80::1%eth0']}"), "spec.source.static.nodes[0].addresses[0]", ""},
	"address in address":    {nodes("{name: a, addresses: ['::ffff:10.0.0.1']}"), "spec.source.static.nodes[0].addresses[0]", ""},
	"long zone":             {nodes("{name: a, addresses: [10.0.0.1], zone: " + strings.Repeat("z", 64) + "}"), "spec.source.static.nodes[0].zone", ""},

	"no subnets":         {pool(static), "spec.subnets", ""},
	"empty subnets":      {subnets(""), "spec.subnets", ""},
	"many subnets":       {subnets(many("10.0.%d.0/24", 17)), "spec.subnets", ""},
	"no subnet":          {subnets("10.0.0.0"), "spec.subnets[0]", ""},
	"everything":         {subnets("0.0.0.0/0"), "spec.subnets[0]", ""},
	"half of it":         {subnets("128.0.0.0/1"), "spec.subnets[0]", ""},
	"everything in IPv6": {subnets("'fd00::/16'"), "spec.subnets[0]", ""},
	"host bits":          {subnets("10.0.0.1/24"), "spec.subnets[0]", ""},
	"IPv4 as IPv6":       {subnets("'::ffff:10.0.0.0/120'"), "spec.subnets[0]", ""},
	"metadata":           {subnets("169.254.169.254/32"), "spec.subnets[0]", ""},
	"metadata of Azure":  {subnets("168.63.0.0/16"), "spec.subnets[0]", ""},
	"loopback":           {subnets("127.0.0.0/8"), "spec.subnets[0]", ""},
	"part of loopback":   {subnets("127.1.0.0/16"), "spec.subnets[0]", ""},
	"part of reserved":   {subnets("'2001:db8:1::/48'"), "spec.subnets[0]", ""},
	"multicast":          {subnets("224.0.0.0/8"), "spec.subnets[0]", ""},
	"link-local":         {subnets("'fe80::/64'"), "spec.subnets[0]", ""},
	"subnet twice":       {subnets("10.0.0.0/24, 10.0.0.0/24"), "spec.subnets[1]", ""},

	"allow without ports": {allow("{namespaces: [shop]}"), "spec.allow[0].ports", ""},
	"allow no ports":      {allow("{namespaces: [shop], ports: []}"), "spec.allow[0].ports", ""},
	"allow for all":       {allow(`{ports: ["80"]}`), "spec.allow[0].namespaces", "spec.allow[0]"},
	"allow nobody":        {allow(`{namespaces: [], ports: ["80"]}`), "spec.allow[0].namespaces", ""},
	"allow both":          {allow(`{namespaces: [a], namespaceSelector: {matchLabels: {a: b}}, ports: ["80"]}`), "spec.allow[0]", ""},
	"empty selector":      {allow(`{namespaceSelector: {}, ports: ["80"]}`), "spec.allow[0].namespaceSelector", ""},
	"empty labels":        {allow(`{namespaceSelector: {matchLabels: {}}, ports: ["80"]}`), "spec.allow[0].namespaceSelector", ""},
	"operator":            {allow(`{namespaceSelector: {matchExpressions: [{key: a, operator: Is}]}, ports: ["80"]}`), "spec.allow[0].namespaceSelector", ""},
	"key of a label":      {allow(`{namespaceSelector: {matchLabels: {"a b": c}}, ports: ["80"]}`), "spec.allow[0].namespaceSelector", ""},
	"value of a label":    {allow(`{namespaceSelector: {matchLabels: {a: "b c"}}, ports: ["80"]}`), "spec.allow[0].namespaceSelector", ""},
	"In nothing":          {allow(`{namespaceSelector: {matchExpressions: [{key: a, operator: In}]}, ports: ["80"]}`), "spec.allow[0].namespaceSelector", ""},
	"Exists in something": {allow(`{namespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}, ports: ["80"]}`), "spec.allow[0].namespaceSelector", ""},
	"many labels":         {allow(`{namespaceSelector: {matchLabels: {` + many("a%d: b", 17) + `}}, ports: ["80"]}`), "spec.allow[0].namespaceSelector.matchLabels", ""},
	"number as port":      {allow(`{namespaces: [a], ports: [30080]}`), "spec.allow[0].ports[0]", ""},
	"reversed ports":      {allow(`{namespaces: [a], ports: [90-80]}`), "spec.allow[0].ports[0]", ""},
	"large port":          {allow(`{namespaces: [a], ports: ["65536"]}`), "spec.allow[0].ports[0]", ""},
	"large range":         {allow(`{namespaces: [a], ports: ["65000-70000"]}`), "spec.allow[0].ports[0]", ""},
	"no port":             {allow(`{namespaces: [a], ports: ["http"]}`), "spec.allow[0].ports[0]", ""},
	"namespace":           {allow(`{namespaces: ["*"], ports: ["80"]}`), "spec.allow[0].namespaces[0]", ""},
	"quota":               {allow(`{namespaces: [a], ports: ["80"], maxServices: 0}`), "spec.allow[0].maxServices", ""},
	"checks":              {allow(`{namespaces: [a], ports: ["80"], maxChecks: 20001}`), "spec.allow[0].maxChecks", ""},

	"off":               {check("mode: off"), "spec.healthCheck.mode", ""},
	"lower case":        {check("mode: https"), "spec.healthCheck.mode", ""},
	"check port":        {check("port: 70000"), "spec.healthCheck.port", ""},
	"remote namespace":  {pool(remote + `allow: [{namespaces: [a], ports: ["80"], remoteNamespaces: ["*"]}]`), "spec.allow[0].remoteNamespaces[0]", ""},
	"no kubeconfig":     {allow(`{namespaces: [a], ports: ["80"], remoteNamespaces: [a]}`), "spec.allow[0].remoteNamespaces", "spec.allow"},
	"timeout":           {check("interval: 1s, timeout: 2s"), "spec.healthCheck.timeout", ""},
	"timeout alone":     {check("timeout: 3s"), "spec.healthCheck.timeout", ""},
	"interval":          {check("interval: 1ms"), "spec.healthCheck.interval", ""},
	"long interval":     {check("interval: 61m"), "spec.healthCheck.interval", ""},
	"unit":              {check("interval: 2"), "spec.healthCheck.interval", ""},
	"words":             {check("interval: soon"), "spec.healthCheck.interval", ""},
	"rise":              {check("rise: 0"), "spec.healthCheck.rise", ""},
	"IPv4 as IPv6 host": {check("mode: HTTP, host: '::ffff:10.0.0.1'"), "spec.healthCheck.host", ""},
	"host with a zone":  {bindingCheck("mode: HTTP, host: 'fe80::1%eth0'"), "spec.healthCheck.host", ""},
	"TLS name as IPv6":  {check("mode: HTTPS, tlsServerName: '::ffff:a00:1'"), "spec.healthCheck.tlsServerName", ""},
	"path with TCP":     {check("path: /x"), "spec.healthCheck.path", ""},
	"path of letters":   {check("mode: HTTP, path: /ä"), "spec.healthCheck.path", ""},
	"host with TCP":     {check("mode: TCP, host: a"), "spec.healthCheck.host", ""},
	"status with TCP":   {check("expectedStatus: '200'"), "spec.healthCheck.expectedStatus", ""},
	"TLS with HTTP":     {check("mode: HTTP, tlsInsecure: true"), "spec.healthCheck.tlsInsecure", ""},
	"TLS name with TCP": {check("tlsServerName: a"), "spec.healthCheck.tlsServerName", ""},
	"host with port":    {check("mode: HTTP, host: 'a:80'"), "spec.healthCheck.host", ""},
	"relative path":     {check("mode: HTTP, path: healthz"), "spec.healthCheck.path", ""},
	"space in a path":   {check("mode: HTTP, path: '/a b'"), "spec.healthCheck.path", ""},
	"escape in a path":  {check("mode: HTTP, path: '/a%zz'"), "spec.healthCheck.path", ""},
	"reversed status":   {check("mode: HTTP, expectedStatus: 399-200"), "spec.healthCheck.expectedStatus", ""},
	"percent":           {guard("maxRemovalPercent: 30%"), "spec.guard.maxRemovalPercent", ""},
	"more than all":     {guard("maxRemovalPercent: 101"), "spec.guard.maxRemovalPercent", ""},
	"silent":            {guard("maxSilentPercent: -1"), "spec.guard.maxSilentPercent", ""},
	"threshold":         {guard("emptyResultThreshold: 1000001"), "spec.guard.emptyResultThreshold", ""},
	"drain":             {guard("drainPeriod: 25h"), "spec.guard.drainPeriod", ""},
	"fail open":         {guard("failOpen: 'yes'"), "spec.guard.failOpen", ""},
	"poll":              {pool(sound + "pollInterval: 10ms"), "spec.pollInterval", ""},
	"release":           {pool(sound + "releaseAfter: -1s"), "spec.releaseAfter", ""},

	"no pools":            {binding("mode: Publish"), "spec.pools", ""},
	"empty pools":         {binding("pools: []"), "spec.pools", ""},
	"five pools":          {binding("pools: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}]"), "spec.pools", ""},
	"pool twice":          {binding("pools: [{name: a}, {name: a}]"), "spec.pools[1].name", "spec.pools[1]"},
	"pool with dots":      {binding("pools: [{name: a.b}]"), "spec.pools[0].name", ""},
	"pool without name":   {binding("pools: [{}]"), "spec.pools[0].name", ""},
	"empty pool":          {binding("pools: [{name: ''}]"), "spec.pools[0].name", ""},
	"long pool":           {binding("pools: [{name: " + strings.Repeat("a", 41) + "}]"), "spec.pools[0].name", ""},
	"a field of a pool":   {binding("pools: [{name: a, colour: red}]"), "spec.pools[0].colour", ""},
	"pools as names":      {binding("pools: [a]"), "spec.pools", ""},
	"no remote namespace": {binding("pools: [{name: a, remoteService: {name: b}}]"), "spec.pools[0].remoteService.namespace", ""},
	"remote name":         {binding("pools: [{name: a, remoteService: {namespace: b, name: a.b}}]"), "spec.pools[0].remoteService.name", ""},
	"an address":          {binding("pools: [{name: a}]\naddresses: [10.0.0.1]"), "spec.addresses", ""},
	"a subnet":            {binding("pools: [{name: a}]\nsubnets: [10.0.0.0/8]"), "spec.subnets", ""},
	"a program":           {binding("pools: [{name: a}]\nsource: {command: {path: sh}}"), "spec.source", ""},
	"an interval":         {bindingCheck("interval: 1s"), "spec.healthCheck.interval", ""},
	"port without number": {ports("{name: http}"), "spec.ports[0].port", ""},
	"port":                {ports("{port: 70000}"), "spec.ports[0].port", ""},
	"protocol":            {ports("{port: 53, protocol: udp}"), "spec.ports[0].protocol", ""},
	"port name":           {ports("{port: 53, name: Dns}"), "spec.ports[0].name", ""},
	"ports without name":  {ports("{port: 1}, {port: 2, name: b}"), "spec.ports[0].name", "spec.ports"},
	"port name twice":     {ports("{port: 1, name: b}, {port: 2, name: b}"), "spec.ports[1].name", "spec.ports"},
	"port twice":          {ports("{port: 1, name: a}, {port: 1, name: b, protocol: TCP}"), "spec.ports[1]", "spec.ports"},
	"query":               {bindingCheck("mode: HTTP, path: '/a?b'"), "spec.healthCheck.path", ""},
	"long path":           {bindingCheck("mode: HTTP, path: /" + strings.Repeat("a", 256)), "spec.healthCheck.path", ""},
	"status":              {bindingCheck("mode: HTTP, expectedStatus: 2xx"), "spec.healthCheck.expectedStatus", ""},
	"path without HTTP":   {bindingCheck("path: /x"), "spec.healthCheck.path", ""},
	"host without HTTP":   {bindingCheck("mode: TCP, host: a"), "spec.healthCheck.host", ""},
	"status without HTTP": {bindingCheck("expectedStatus: '200'"), "spec.healthCheck.expectedStatus", ""},
	"which port":          {binding("pools: [{name: a}]\nports: [{port: 1, name: a}, {port: 2, name: b}]\nhealthCheck: {mode: TCP}"), "spec.healthCheck.port", ""},
	"no TCP port":         {binding("pools: [{name: a}]\nports: [{port: 1, protocol: UDP}]\nhealthCheck: {mode: TCP}"), "spec.healthCheck.port", ""},
	"mode":                {binding("pools: [{name: a}]\nmode: Dryrun"), "spec.mode", ""},
	"adopt":               {binding("pools: [{name: a}, {name: b}]\nadopt: web-remote"), "spec.adopt", ""},
	"adopt a wrong name":  {binding("pools: [{name: a}]\nadopt: A_B"), "spec.adopt", ""},
	"adopt a long name":   {binding("pools: [{name: a}]\nadopt: " + strings.Repeat("a", 244)), "spec.adopt", ""},
}

// accepted are documents at the edges of what is sound.
var accepted = map[string]string{
	"the least pool":    pool(sound),
	"all of a pool":     strings.TrimSpace(pool(fullPool)),
	"a long pool":       binding("pools: [{name: " + strings.Repeat("a", 40) + "}]"),
	"the least binding": binding("pools: [{name: a}]"),
	"all of a binding":  binding(fullBinding),
	"IONOS":             ionos("datacenterID: " + uuid + ", lanID: 2, clusterID: " + strings.ToUpper(uuid)),
	"no cluster":        ionos("datacenterID: " + uuid + ", lanID: 2, clusterID: ''"),
	"selectors":         selecting("a=b,c!=d, e in (f, g),h notin (i),j,!k,l==m,n>5,a.b/c=, x"),
	"no selector":       selecting(""),
	"addresses":         nodes("{name: 'ä_1', addresses: ['fd00::1', 10.0.0.1, 10.0.0.1], zone: ''}"),
	"smallest subnets":  subnets("10.0.0.1/32, 'fd00::1/128'"),
	"largest subnets":   subnets("10.0.0.0/8, 'fd01::/32', 11.0.0.0/8"),
	"ranges":            allow(`{namespaces: [a, a], ports: ["1-65535", "80-80", "80", "80"], maxServices: 10000, maxChecks: 20000}`),
	"every namespace":   allow(`{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: Exists}]}, ports: ["80"]}`),
	"selected":          allow(`{namespaceSelector: {matchLabels: {a.b/c: "", d: E_f}, matchExpressions: [{key: a, operator: NotIn, values: [b, ""]}, {key: c, operator: DoesNotExist}]}, ports: ["80"]}`),
	"nobody":            pool(sound + "allow: []"),
	"nothing to follow": allow(`{namespaces: [a], ports: ["80"], remoteNamespaces: []}`),
	"a short interval":  check("interval: 400ms"),
	"exotic durations":  check("interval: 1.5s, timeout: 1s200ms"),
	"no time":           pool(sound + "releaseAfter: 0s\nguard: {drainPeriod: '0'}"),
	"no check":          check("mode: None, path: /x, host: a, tlsServerName: b, tlsInsecure: true"),
	"TCP":               check("mode: TCP, tlsInsecure: false, holdConnection: true"),
	"HTTPS":             check("mode: HTTPS, host: 10.0.0.1, tlsServerName: Web.Example.org, tlsInsecure: true"),
	"host of IPv6":      check("mode: HTTP, host: 'fd00::1'"),
	"paths":             check("mode: HTTP, path: '/a%20b;c/%C3%A4?d=e%zz&f=?'"),
	"statuses":          check("mode: HTTP, expectedStatus: ' 200 - 299 ,404, 0500'"),
	"empty texts":       check("mode: HTTP, path: '', host: '', expectedStatus: ''"),
	"two protocols":     ports("{port: 53, name: a, protocol: UDP}, {port: 53, name: b}"),
	"one TCP port":      binding("pools: [{name: a}]\nports: [{port: 53, name: a, protocol: UDP}, {port: 53, name: b}]\nhealthCheck: {mode: TCP}"),
	"a check without":   bindingCheck("mode: None"),
	"many ports":        ports(many("{name: p%[1]d, port: 1%03[1]d}", 100)),
	"four pools":        binding("pools: [{name: a}, {name: b}, {name: c}, {name: d}]\nadopt: ''"),
	"the largest pool":  pool(remote + "allow:\n" + strings.Repeat("- {namespaces: ["+many("n%d", 256)+"], ports: ["+many("'%d-65535'", 64)+"], remoteNamespaces: ["+many("r%d", 64)+"]}\n", 64)),
	"longest selectors": pool(sound + "allow:\n" + strings.Repeat("- {namespaceSelector: {matchLabels: {"+many("a%d: b", 16)+"}, matchExpressions: ["+strings.TrimSuffix(strings.Repeat("{key: a, operator: In, values: ["+many("b%d", 32)+"]}, ", 8), ", ")+"]}, ports: ['80']}\n", 64)),
	"names of letters":  nodes("{name: " + strings.Repeat("ä", 253) + ", addresses: [10.0.0.1]}"),
}

const fullPool = `
source:
  ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 2, clusterID: 8feda53f-15f0-447f-badf-ebe32dad2fc1, nodeSelector: a=b}
credentials: blue
subnets: [10.7.0.0/24, "fd00:10::/64"]
pollInterval: 30s
allow:
- {namespaces: [shop, blog], ports: ["30080", "31000-31999"], remoteNamespaces: [shop], maxServices: 5, maxChecks: 1}
- namespaceSelector: {matchLabels: {platform.example.org/tier: gold}, matchExpressions: [{key: a, operator: In, values: [b]}]}
  ports: ["30443"]
healthCheck: {mode: HTTPS, port: 10256, path: "/healthz?verbose", interval: 1h, timeout: 10ms, rise: 2, fall: 3, holdConnection: true, tlsServerName: a, tlsInsecure: true, host: b, expectedStatus: "200"}
guard: {maxRemovalPercent: 50, maxSilentPercent: 0, emptyResultThreshold: 0, failOpen: false, drainPeriod: 30s}
releaseAfter: 10m
`

const fullBinding = `
pools: [{name: a, remoteService: {namespace: shop, name: web}}]
ports: [{name: http, port: 30080, protocol: TCP}]
healthCheck: {mode: HTTP, path: /ready, host: web.example.org, expectedStatus: "200-299, 404", port: 1}
mode: DryRun
adopt: web-remote
`

// many are so many texts of a form.
func many(form string, count int) string {
	var all []string
	for n := range count {
		all = append(all, fmt.Sprintf(form, n+1))
	}
	return strings.Join(all, ", ")
}

// Contract 78: what the program refuses in a file, the API server refuses in an object,
// and names the field. What it stores means what the file means, defaults included.
func (w *world) refusesTheSame(t *testing.T) {
	for name, c := range refused {
		mistakes := documents.Decode("f", []byte(c.text))[0].Mistakes
		if len(mistakes) == 0 || mistakes[0].Field != c.field && !strings.HasPrefix(mistakes[0].Field, c.field) {
			t.Errorf("%s: the program says %v, want a mistake of %s", name, mistakes, c.field)
		}
		field := cmp.Or(c.around, c.field)
		if _, err := w.create(t.Context(), objectOf(t, c.text), metav1.DryRunAll); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: the API server says %v, want a refusal that names %s", name, err, field)
		}
	}
	for name, text := range accepted {
		if mistakes := documents.Decode("f", []byte(text))[0].Mistakes; len(mistakes) > 0 {
			t.Errorf("%s: the program refuses: %v", name, mistakes)
		}
		stored, err := w.create(t.Context(), objectOf(t, text), metav1.DryRunAll)
		if err != nil {
			t.Errorf("%s: the API server refuses: %v", name, err)
			continue
		}
		if diff := differs(t, text, stored); diff != "" {
			t.Errorf("%s: what is stored means something else (-file +API server):\n%s", name, diff)
		}
	}
}
