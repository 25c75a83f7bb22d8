package archtest_test

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ablmnzde/ionoscloud-endpointslice-controller/"

// allowed says which of our packages each of our packages may import, and why not
// more. A new package states its imports here first. Imports point down only, and
// siblings never import siblings.
var allowed = map[string]struct {
	imports []string
	reason  string
}{
	"cmd/ionos-endpointslice-controller": {of("cli", "commandline", "config", "kubeapi"), "main knows signals, exit status and what is the whole process's, nothing else"},

	"internal/setting":   {nil, "it is names only, so that every surface can spell them"},
	"internal/inventory": {nil, "it is what flows through every stage, so it depends on none"},
	"internal/process":   {of("redact"), "it runs programs and knows nothing of what for"},
	"internal/redact":    {nil, "it makes texts fit to be shown and knows nothing of where they come from"},
	"internal/proxy":     {nil, "it judges URLs of proxies and knows nothing of what for"},
	"internal/kubeapi":   {append(of("jwt", "proxy", "redact", "retryafter"), "api/v1alpha1", "api/fleet/v1alpha1"), "it makes clients of API servers and knows nothing of what for"},
	"internal/config":    {of("files", "setting"), "it is raw text to typed values; who uses them translates"},

	"internal/commandline": {of("config"), "it is what both programs' command lines have in common"},

	"internal/retryafter": {nil, "it reads one header and knows nothing of who sent it"},
	"internal/jwt":        {nil, "it reads one token and knows nothing of whose it is"},

	"internal/documents": {append(of("config", "filter", "setting"), "api/v1alpha1"), "it judges documents, wherever they come from and whoever acts on them"},

	"internal/folder": {of("documents"), "it reads files; what is in them is judged elsewhere"},

	"internal/kinds": {append(of("documents", "kubeapi"), "api/v1alpha1"), "it reads and writes objects; what is in them is judged elsewhere"},

	"internal/documents/variables": {append(of("config", "documents", "setting"), "api/v1alpha1"), "it translates between two forms, and only translates"},

	"internal/filter":      {of("inventory"), "a stage knows what flows, not the other stages"},
	"internal/probe":       {of("inventory"), "a stage knows what flows, not the other stages"},
	"internal/files":       {nil, "it reads small files and knows nothing of what for"},
	"internal/descriptors": {nil, "it shares out what the system allows and knows nothing of what for"},
	"internal/connections": {of("descriptors"), "it bounds connections and knows nothing of what for"},
	"internal/hold":        {of("descriptors"), "it holds connections and knows nothing of what for"},
	"internal/guard":       {of("inventory"), "a stage knows what flows, not the other stages"},
	"internal/plan":        {of("inventory", "setting", "retryafter"), "a stage knows what flows, not the other stages"},

	"internal/resolve": {append(of("plan", "config", "documents", "setting"), "api/v1alpha1"), "it says who may use what; pools and targets are run elsewhere"},

	"internal/manifest": {of("inventory", "plan"), "it translates our slices, and only translates"},

	"internal/source/static":          {of("inventory"), "a source yields nodes; the loop lives elsewhere"},
	"internal/source/file":            {of("inventory"), "a source yields nodes; the loop lives elsewhere"},
	"internal/source/command":         {of("inventory", "process"), "a source yields nodes; the loop lives elsewhere"},
	"internal/source/ionos":           {of("inventory", "jwt", "proxy", "redact", "retryafter"), "a source yields nodes; the loop lives elsewhere"},
	"internal/source/kubernetes":      {of("inventory", "kubeapi", "redact"), "a source yields nodes; the loop lives elsewhere"},
	"internal/source/ionos/ionostest": {nil, "it stands for a cloud that does not know us"},
	"internal/source/sourcetest":      {of("inventory"), "the suite knows sources by their promise only"},

	"internal/store/memory":    {of("inventory", "plan", "manifest"), "a store holds slices; what is in them was decided before"},
	"internal/store/kubectl":   {of("inventory", "plan", "manifest", "process"), "a store holds slices; what is in them was decided before"},
	"internal/store/kube":      {append(of("inventory", "plan", "manifest", "resolve", "kubeapi", "redact"), "api/v1alpha1"), "a store holds slices; what is in them was decided before"},
	"internal/store/storetest": {of("inventory", "plan", "manifest"), "the suite knows stores by their promise only"},

	"internal/pool":            {of("inventory", "filter", "probe", "hold", "guard", "retryafter"), "it decides; Services, slices and their API server are somebody else's"},
	"internal/outbox":          {of("inventory", "plan", "retryafter"), "it says when, and sends nothing"},
	"internal/target":          {of("inventory", "guard", "plan", "outbox"), "it publishes verdicts, wherever they come from"},
	"internal/narration":       {of("inventory", "guard", "plan", "outbox", "pool", "target"), "it tells what came of events, and decides nothing"},
	"internal/serve/servetest": {append(of("inventory", "filter", "guard", "plan", "outbox", "pool", "hold", "target", "narration", "setting", "documents", "resolve", "serve", "report"), "api/v1alpha1"), "it is the engine for one Service, as tests drive it; adapters come from outside"},
	"internal/election":        {of("kubeapi", "redact"), "it says who may act, and knows nothing of what for"},
	"internal/report":          {append(of("documents", "inventory", "guard", "plan", "narration", "setting", "resolve", "pool", "serve"), "api/v1alpha1"), "it translates what was seen and decided, and only translates"},
	"internal/metrics":         {append(of("inventory", "hold", "guard", "plan", "documents", "resolve", "pool", "target", "narration", "serve"), "api/v1alpha1"), "it counts what the engine and its parts did and decides nothing"},
	"internal/event":           {of("plan", "narration", "kubeapi", "redact"), "it delivers what the engine announces"},
	"internal/admin":           {of("connections", "inventory", "guard", "report"), "it serves what others made and decides nothing"},
	"internal/preflight":       {append(of("descriptors", "inventory", "config", "setting", "documents", "resolve", "filter", "jwt", "plan", "manifest", "kubeapi", "redact"), "api/v1alpha1"), "it looks at everything once and judges it; the ways to it come from outside"},
	"internal/serve":           {append(of("descriptors", "inventory", "documents", "resolve", "filter", "probe", "hold", "guard", "plan", "setting", "pool", "outbox", "target", "narration", "retryafter"), "api/v1alpha1"), "it starts and ends what package resolve says; sources and checks come from outside"},
	"internal/cli": {append(of("inventory", "files", "process", "config", "commandline", "filter", "probe", "guard", "plan", "manifest",
		"source/static", "source/file", "source/command", "source/ionos", "source/kubernetes",
		"store/memory", "store/kubectl", "store/kube", "kubeapi", "pool", "target", "election", "report", "metrics", "event", "admin", "documents", "documents/variables", "folder", "kinds", "resolve", "serve", "narration", "preflight", "setting"), "api/v1alpha1"), "it is the only package that knows every adapter"},

	"api/fleet/v1alpha1": {nil, "it is for other programs too, which get the types of Kubernetes with it and nothing else"},

	"api/v1alpha1":  {nil, "it is for other programs too, which get apimachinery with it and nothing else"},
	"pkg/views":     {nil, "it is for other programs, which get the standard library with it and nothing else"},
	"internal/view": {[]string{"pkg/views", "api/v1alpha1"}, "it joins values, wherever they come from"},

	"internal/viewcache":           {append(of("view"), "pkg/views"), "it holds what was joined, wherever it comes from and whoever reads it"},
	"internal/viewsource":          {of("view", "viewcache", "kubeapi"), "it fills the cache from an API server and knows no reader"},
	"internal/viewserver":          {append(of("certificates", "connections", "files", "descriptors", "viewcache"), "pkg/views"), "it serves what the cache holds and decides nothing but who may see it"},
	"internal/xds/resources":       {append(of("view"), "pkg/views"), "it translates values, wherever they come from and whoever is sent them"},
	"internal/drain":               {nil, "it ends one Envoy and knows nothing of fleets"},
	"internal/fleet/children":      {append(of("xds/resources", "xds/spec"), "api/fleet/v1alpha1"), "it makes objects as values; whoever writes them reads them too"},
	"internal/fleet/conditions":    {append(of("fleet/children", "redact"), "api/fleet/v1alpha1"), "it judges what was seen, whoever saw it"},
	"internal/fleet/streams":       {of("fleet/conditions", "files", "redact"), "it asks what proxies said, and judges nothing"},
	"internal/fleet":               {append(of("fleet/children", "fleet/conditions", "metrics/fleetmetrics", "redact", "xds/spec"), "api/fleet/v1alpha1"), "it is the operator; the ways to others come from outside"},
	"internal/xds/spec":            {append(of("view", "xds/resources"), "api/fleet/v1alpha1"), "it reads what a fleet is to do, whoever carries it"},
	"internal/xds":                 {append(of("certificates", "connections", "descriptors", "files", "redact", "view", "viewcache", "xds/resources", "xds/spec"), "api/fleet/v1alpha1"), "it sends what the cache holds and decides nothing but who may see it, and in which order"},
	"internal/fleetsource":         {append(of("kubeapi", "xds", "xds/spec"), "api/fleet/v1alpha1"), "it tells what objects say, and decides nothing"},
	"internal/metrics/viewmetrics": {append(of("viewcache", "viewserver", "xds"), "pkg/views"), "it counts what the server and its cache did"},
	"internal/viewcli": {append(of("config", "connections", "commandline", "kubeapi", "proxy", "redact", "view", "viewcache", "viewsource", "viewserver", "metrics/viewmetrics", "xds", "xds/resources", "drain", "fleet", "fleet/children", "fleet/streams", "fleetsource", "certificates/secrets"), "pkg/views"),
		"it is the only package of endpoint-views that knows every part"},
	"cmd/endpoint-views": {of("commandline", "viewcli", "config", "kubeapi"), "main knows signals, exit status and what is the whole process's, nothing else"},

	"internal/metrics/fleetmetrics": {append(of("fleet/children"), "api/fleet/v1alpha1"), "it counts what the operator sees"},
	"internal/certificates":         {nil, "it makes certificates as values; whoever stores them reads them too"},
	"internal/certificates/secrets": {append(of("certificates", "kubeapi"), "api/fleet/v1alpha1"), "it stores what it is given"},

	"internal/store/storetest/cluster": {append(of("inventory", "plan", "manifest", "store/storetest"), "test/controlplane"), "it puts the suite on a real API server"},

	"examples/haproxy":     {[]string{"pkg/views"}, "it is another program, which knows the client alone"},
	"hack/demo":            {nil, "it shows the built binary from outside"},
	"hack/fake-ionos":      {of("source/ionos/ionostest"), "it is the fake with flags"},
	"hack/mutate":          {nil, "it knows source as text"},
	"test/e2e":             {nil, "it runs the built binary from outside"},
	"test/chart":           {nil, "it installs the chart and runs the built binary from outside"},
	"test/kinds":           {nil, "it holds the definitions of the kinds against an API server"},
	"test/image":           {nil, "it carries out the Dockerfile"},
	"test/deploy":          {nil, "it applies the manifests and runs the built binary from outside"},
	"test/hack":            {nil, "it contains tests only"},
	"test/browser":         {nil, "it looks at the page of the built binary; its tests have fixtures"},
	"internal/archtest":    {nil, "it contains tests only"},
	"test/child":           {nil, "it starts any program"},
	"test/controlplane":    {[]string{"test/child"}, "it stands for a machine that does not know us"},
	"test/kubelet":         {[]string{"test/child"}, "it stands for a machine that does not know us"},
	"test/built":           {nil, "it stands for a machine that does not know us"},
	"test/bubble":          {nil, "it is where every package's tests run"},
	"test/netns":           {nil, "it stands for a machine that does not know us"},
	"test/monitoring":      {nil, "it contains tests only"},
	"test/docs":            {nil, "it contains tests only"},
	"test/oracle":          {nil, "it contains tests only"},
	"test/views":           {nil, "it runs the built binary from outside"},
	"test/faults":          {nil, "it contains tests only"},
	"test/conformance":     {nil, "it runs the built binary from outside"},
	"test/simulation":      {of("inventory", "filter", "guard", "plan", "serve/servetest", "election", "store/memory"), "it is the world around the loop; the loop is the real one"},
	"test/simulation/many": {of("inventory", "filter", "guard", "plan", "documents", "resolve", "serve", "manifest"), "it is the world around the loops of many Services; they are the real ones"},

	"test/traffic":         {nil, "it stands for users who do not know us"},
	"test/traffic/load":    {[]string{"test/traffic"}, "it is the load as a program"},
	"test/traffic/backend": {nil, "it stands for a worker that does not know us"},

	"test/kubeproxy":  {[]string{"test/built", "test/child", "test/controlplane", "test/netns"}, "it stands for a machine that does not know us"},
	"test/envoy":      {[]string{"test/built", "test/child", "test/netns"}, "it stands for a machine that does not know us"},
	"test/proxies":    {append(of("view", "viewcache", "xds", "xds/resources"), "test/envoy", "test/netns"), "it asks a proxy as clients do, and tells it what the program tells it"},
	"test/wire":       {nil, "it stands for a machine that does not know us"},
	"test/strain":     {nil, "it stands for a machine that does not know us"},
	"test/lab/poller": {nil, "it stands for a loop that does not know us"},
	"test/apiproxy":   {nil, "it stands for a machine that does not know us"},

	"test/lab": {append(of("source/ionos/ionostest"), "test/built", "test/child", "test/controlplane", "test/netns", "test/kubeproxy", "test/envoy", "test/traffic", "test/wire", "test/apiproxy", "test/strain"),
		"it runs the built binary from outside, in a world of its own"},
	"test/lab/report": {[]string{"test/traffic"}, "it writes a page about what was measured"},
}

func of(packages ...string) []string {
	for i, name := range packages {
		packages[i] = "internal/" + name
	}
	return packages
}

// clientMakers are the parts of client-go that a client of an API server is made with.
var clientMakers = []string{
	"k8s.io/client-go/discovery", "k8s.io/client-go/dynamic", "k8s.io/client-go/gentype", "k8s.io/client-go/kubernetes",
	"k8s.io/client-go/metadata", "k8s.io/client-go/rest", "k8s.io/client-go/scale", "k8s.io/client-go/tools/clientcmd", "k8s.io/client-go/transport",
}

// libraries lists the packages that may use each library. A path includes all below
// it.
var libraries = []struct {
	prefixes []string
	places   []string
	reason   string
}{
	{
		[]string{"k8s.io/client-go"},
		[]string{"internal/kubeapi", "internal/store/kube", "internal/source/kubernetes", "internal/store/storetest/cluster", "internal/fleet", "test"},
		"whoever talks to a cluster is an adapter; the stages must be testable without one",
	},
	{
		clientMakers,
		[]string{"internal/kubeapi", "internal/store/storetest/cluster", "internal/fleet" /* for a library, ADR 44 */, "test"},
		"package kubeapi makes the clients of API servers; another would lack what it has: masked errors, refused redirects, credentials that are read again",
	},
	{
		[]string{"github.com/ionos-cloud"},
		[]string{"internal/source/ionos"},
		"the cloud's types, with their nil pointers, are translated at the edge and go no further",
	},
	{
		[]string{"github.com/envoyproxy", "google.golang.org/grpc"},
		[]string{"internal/xds", "test"},
		"the types of xDS are made at the edge and go no further",
	},
	{
		[]string{"sigs.k8s.io/controller-runtime"},
		[]string{"internal/fleet"},
		"the operator of fleets is built with it; everything else is smaller and faster without",
	},
	{
		[]string{"github.com/prometheus"},
		[]string{"internal/metrics"},
		"everybody else works the same whether anybody counts or not",
	},
	{
		[]string{"os/exec"},
		[]string{"internal/process", "hack", "test"},
		"one place runs programs, with a bound on time and output, and ends the whole process group",
	},
	{
		[]string{"github.com/kelseyhightower/envconfig"},
		[]string{"internal/config"},
		"one package reads the environment",
	},
	{
		[]string{"log", "log/slog"},
		[]string{"cmd", "internal/serve/servetest", "internal/serve", "internal/admin", "internal/cli", "internal/viewserver", "internal/xds", "internal/viewcli", "internal/config", "test/apiproxy" /* http.Server wants one to be silent with */},
		"log or return, never both: stages and adapters return (config parses the level and masks secrets)",
	},
	{
		[]string{"k8s.io/klog"},
		[]string{"internal/kubeapi"},
		"client-go logs through it, so who uses client-go has to quieten it; our own messages are slog's",
	},
	{
		[]string{"testing"},
		[]string{"internal/source/sourcetest", "internal/store/storetest", "test"},
		"what only tests need does not go into the daemon",
	},
}

// pure are the stages that are plain functions.
var pure = struct {
	places    []string
	forbidden []string
	clock     []string
	reason    string
}{
	places:    []string{"internal/setting", "internal/inventory", "internal/filter", "internal/guard", "internal/plan", "internal/manifest", "internal/view", "internal/xds/resources", "internal/xds/spec", "internal/documents", "internal/fleet/children"},
	forbidden: []string{"context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"},
	clock:     []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"},
	reason:    "a pure stage takes values and returns values, so that a property test can drive it through any history",
}

func TestEveryPackageStatesItsImports(t *testing.T) {
	for _, u := range load(t) {
		report(t, "packages", "the table says what each package may import; internal/archtest/imports_test.go", statesImports(u))
	}
}

func TestImportsPointDown(t *testing.T) {
	for _, u := range load(t) {
		report(t, "imports", allowed[u.dir].reason, importsDown(u))
	}
}

func TestLibrariesStayInTheirPlaces(t *testing.T) {
	for _, u := range load(t) {
		for i, library := range libraries {
			report(t, "libraries", library.reason, usesLibrary(u, i))
		}
	}
}

func TestPureStagesStayPure(t *testing.T) {
	for _, u := range load(t) {
		report(t, "pure", pure.reason, impure(u))
	}
}

// report fails the test with each violation and the reason of the rule.
func report(t *testing.T, rule, reason string, violations []violation) {
	t.Helper()
	for _, v := range violations {
		t.Errorf("%v\n\trule %q: %s", v, rule, reason)
	}
}

func statesImports(u unit) []violation {
	if _, ok := allowed[u.dir]; ok {
		return nil
	}
	return []violation{{at: u.dir, what: "is not in the table of packages"}}
}

func importsDown(u unit) []violation {
	var violations []violation
	for _, p := range u.parts {
		for _, spec := range p.Imports {
			own, ok := strings.CutPrefix(unquoted(spec), module)
			if ok && !slices.Contains(allowed[u.dir].imports, own) {
				violations = append(violations, u.at(spec, "%s may not import %s", u.dir, own))
			}
		}
	}
	return violations
}

func usesLibrary(u unit, rule int) []violation {
	if in(u.dir, libraries[rule].places...) {
		return nil
	}
	var violations []violation
	for _, p := range u.parts {
		for _, spec := range p.Imports {
			if in(unquoted(spec), libraries[rule].prefixes...) && unquoted(spec) != "testing/fstest" {
				violations = append(violations, u.at(spec, "%s may not import %s", u.dir, unquoted(spec)))
			}
		}
	}
	return violations
}

func impure(u unit) []violation {
	if !in(u.dir, pure.places...) {
		return nil
	}
	var violations []violation
	for _, p := range u.parts {
		for _, spec := range p.Imports {
			if slices.Contains(pure.forbidden, unquoted(spec)) {
				violations = append(violations, u.at(spec, "imports %s", unquoted(spec)))
			}
		}
	}
	return append(violations, u.mentions("time", pure.clock...)...)
}
