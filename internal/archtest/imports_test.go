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
	"cmd/ionos-endpointslice-controller": {of("endpoints/cli", "commandline", "settings", "kube"), "main knows signals, exit status and what is the whole process's, nothing else"},

	"internal/settings/naming":     {nil, "it is names only, so that every surface can spell them"},
	"internal/endpoints/inventory": {nil, "it is what flows through every stage, so it depends on none"},
	"internal/transport":           {nil, "it knows connections, headers and texts, and nothing of what for"},
	"internal/system":              {of("transport"), "it reads files and runs programs and knows nothing of what for"},
	"internal/kube":                {append(of("transport", "system"), "api/v1alpha1", "api/fleet/v1alpha1"), "it makes clients of API servers and knows nothing of what for"},
	"internal/settings":            {of("system", "settings/naming"), "it is raw text to typed values; who uses them translates"},

	"internal/commandline": {of("settings"), "it is what both programs' command lines have in common"},

	"internal/endpoints/documents": {append(of("settings", "endpoints/filter", "settings/naming"), "api/v1alpha1"), "it judges documents, wherever they come from and whoever acts on them"},

	"internal/endpoints/documents/folder": {of("endpoints/documents", "system", "transport"), "it reads files; what is in them is judged elsewhere"},

	"internal/endpoints/documents/apiserver": {append(of("endpoints/documents", "kube"), "api/v1alpha1"), "it reads and writes objects; what is in them is judged elsewhere"},

	"internal/endpoints/documents/environment": {append(of("settings", "endpoints/documents", "settings/naming"), "api/v1alpha1"), "it translates between two forms, and only translates"},

	"internal/endpoints/filter":  {of("endpoints/inventory"), "a stage knows what flows, not the other stages"},
	"internal/endpoints/health":  {of("endpoints/inventory", "transport"), "a stage knows what flows, not the other stages"},
	"internal/endpoints/guard":   {of("endpoints/inventory"), "a stage knows what flows, not the other stages"},
	"internal/endpoints/publish": {of("endpoints/inventory", "settings/naming", "transport"), "a stage knows what flows, not the other stages"},

	"internal/endpoints/assign": {append(of("endpoints/inventory", "endpoints/publish", "settings", "endpoints/documents", "settings/naming"), "api/v1alpha1"), "it says who may use what; pools and targets are run elsewhere"},

	"internal/endpoints/source":                 {of("endpoints/inventory", "system"), "a source yields nodes; the loop lives elsewhere"},
	"internal/endpoints/source/ionos":           {of("endpoints/inventory", "transport"), "a source yields nodes; the loop lives elsewhere"},
	"internal/endpoints/source/kubernetes":      {of("endpoints/inventory", "kube", "transport"), "a source yields nodes; the loop lives elsewhere"},
	"internal/endpoints/placement":              {of("endpoints/inventory", "kube"), "it says where Pods are; what follows from that is decided elsewhere"},
	"internal/endpoints/source/ionos/ionostest": {nil, "it stands for a cloud that does not know us"},
	"internal/endpoints/source/sourcetest":      {of("endpoints/inventory"), "the suite knows sources by their promise only"},

	"internal/endpoints/store":           {of("endpoints/inventory", "endpoints/publish", "system", "transport"), "a store holds slices; what is in them was decided before"},
	"internal/endpoints/store/cluster":   {append(of("endpoints/inventory", "endpoints/publish", "endpoints/assign", "kube", "transport"), "api/v1alpha1"), "a store holds slices; what is in them was decided before"},
	"internal/endpoints/store/storetest": {of("endpoints/inventory", "endpoints/publish"), "the suite knows stores by their promise only"},

	"internal/endpoints/peers":                   {of("endpoints/inventory", "endpoints/guard", "transport"), "it carries questions and answers; what follows from them is decided elsewhere"},
	"internal/endpoints/inventory/inventorytest": {of("endpoints/inventory"), "it makes values for tests"},

	"internal/endpoints/peers/peerstest": {of("endpoints/peers"), "it stands for a Lease that does not know what is asked"},
	"internal/endpoints/pool":            {of("endpoints/inventory", "endpoints/filter", "endpoints/health", "endpoints/guard", "endpoints/peers", "transport"), "it decides; Services, slices and their API server are somebody else's"},
	"internal/endpoints/writer":          {of("endpoints/inventory", "endpoints/guard", "endpoints/publish", "transport"), "it publishes verdicts, wherever they come from"},
	"internal/endpoints/explain":         {of("endpoints/inventory", "endpoints/guard", "endpoints/publish", "endpoints/pool", "endpoints/writer"), "it tells what came of events, and decides nothing"},
	"internal/endpoints/controllertest":  {append(of("endpoints/inventory", "endpoints/peers", "endpoints/filter", "endpoints/guard", "endpoints/publish", "endpoints/pool", "endpoints/health", "endpoints/writer", "endpoints/explain", "settings/naming", "endpoints/documents", "endpoints/assign", "endpoints/controller", "endpoints/report"), "api/v1alpha1"), "it is the engine for one Service, as tests drive it; adapters come from outside"},
	"internal/kube/lease":                {of("kube", "transport"), "it says who may act, and knows nothing of what for"},
	"internal/endpoints/report":          {append(of("endpoints/documents", "endpoints/inventory", "endpoints/guard", "endpoints/publish", "endpoints/explain", "settings/naming", "endpoints/assign", "endpoints/pool", "endpoints/controller"), "api/v1alpha1"), "it translates what was seen and decided, and only translates"},
	"internal/endpoints/metrics":         {append(of("transport", "endpoints/inventory", "endpoints/health", "endpoints/guard", "endpoints/publish", "endpoints/documents", "endpoints/assign", "endpoints/pool", "endpoints/writer", "endpoints/explain", "endpoints/controller"), "api/v1alpha1"), "it counts what the engine and its parts did and decides nothing"},
	"internal/endpoints/events":          {of("endpoints/publish", "endpoints/explain", "kube", "transport"), "it delivers what the engine announces"},
	"internal/endpoints/page":            {of("transport", "endpoints/inventory", "endpoints/guard", "endpoints/report"), "it serves what others made and decides nothing"},
	"internal/endpoints/preflight":       {append(of("transport", "endpoints/inventory", "settings", "settings/naming", "endpoints/documents", "endpoints/assign", "endpoints/filter", "endpoints/publish", "endpoints/peers", "kube", "kube/lease"), "api/v1alpha1"), "it looks at everything once and judges it; the ways to it come from outside"},
	"internal/endpoints/controller":      {append(of("transport", "endpoints/inventory", "endpoints/documents", "endpoints/assign", "endpoints/filter", "endpoints/health", "endpoints/guard", "endpoints/publish", "settings/naming", "endpoints/peers", "endpoints/pool", "endpoints/writer", "endpoints/explain"), "api/v1alpha1"), "it starts and ends what package assign says; sources and checks come from outside"},
	"internal/endpoints/cli": {append(of("endpoints/inventory", "system", "transport", "settings", "commandline", "endpoints/filter", "endpoints/health", "endpoints/guard", "endpoints/publish",
		"endpoints/source", "endpoints/source/ionos", "endpoints/source/kubernetes", "endpoints/placement",
		"endpoints/store", "endpoints/store/cluster", "kube", "endpoints/peers", "endpoints/pool", "endpoints/writer", "kube/lease", "endpoints/report", "endpoints/metrics", "endpoints/events", "endpoints/page", "endpoints/documents", "endpoints/documents/environment", "endpoints/documents/folder", "endpoints/documents/apiserver", "endpoints/assign", "endpoints/controller", "endpoints/explain", "endpoints/preflight", "settings/naming"), "api/v1alpha1"), "it is the only package that knows every adapter"},

	"api/fleet/v1alpha1": {nil, "it is for other programs too, which get the types of Kubernetes with it and nothing else"},

	"api/v1alpha1":        {nil, "it is for other programs too, which get apimachinery with it and nothing else"},
	"pkg/views":           {nil, "it is for other programs, which get the standard library with it and nothing else"},
	"internal/views/join": {[]string{"pkg/views", "api/v1alpha1"}, "it joins values, wherever they come from"},

	"internal/views/cache":           {append(of("views/join"), "pkg/views"), "it holds what was joined, wherever it comes from and whoever reads it"},
	"internal/views/watch":           {append(of("views/join", "views/cache", "views/xds", "views/xds/envoyconfig", "kube"), "api/fleet/v1alpha1"), "it tells what an API server says, and knows no reader"},
	"internal/views/stream":          {append(of("views/certificates", "transport", "system", "views/cache"), "pkg/views"), "it serves what the cache holds and decides nothing but who may see it"},
	"internal/views/xds/envoyconfig": {append(of("transport", "views/join"), "pkg/views", "api/fleet/v1alpha1"), "it translates values, wherever they come from and whoever is sent them"},
	"internal/views/fleet/manifests": {append(of("views/xds/envoyconfig", "transport"), "api/fleet/v1alpha1"), "it makes objects and status as values; whoever writes them reads them too"},
	"internal/views/fleet":           {append(of("views/fleet/manifests", "system", "transport", "views/xds/envoyconfig"), "api/fleet/v1alpha1"), "it is the operator, with the end of its Envoys; the way to the API server comes from outside"},
	"internal/views/xds":             {append(of("views/certificates", "transport", "system", "views/join", "views/cache", "views/xds/envoyconfig"), "api/fleet/v1alpha1"), "it sends what the cache holds and decides nothing but who may see it, and in which order"},
	"internal/views/cli": {append(of("settings", "transport", "commandline", "kube", "views/join", "views/cache", "views/watch", "views/stream", "views/xds", "views/xds/envoyconfig", "views/fleet", "views/fleet/manifests", "views/certificates"), "pkg/views", "api/fleet/v1alpha1"),
		"it is the only package of endpoint-views that knows every part"},
	"cmd/endpoint-views": {of("commandline", "views/cli", "settings", "kube"), "main knows signals, exit status and what is the whole process's, nothing else"},

	"internal/views/xds/envoyconfig/envoyconfigtest": {append(of("views/xds/envoyconfig"), "api/fleet/v1alpha1"), "it is what tests of several packages need of it"},
	"internal/views/fleet/fleettest":                 {[]string{"api/fleet/v1alpha1"}, "it is what tests of several packages know of the operator"},

	"internal/views/certificates": {append(of("kube"), "api/fleet/v1alpha1"), "it makes certificates and stores them; whoever has one reads it too"},

	"internal/endpoints/store/storetest/apiserver": {append(of("endpoints/inventory", "endpoints/publish", "endpoints/store/storetest"), "test/controlplane"), "it puts the suite on a real API server"},

	"examples/haproxy":     {[]string{"pkg/views"}, "it is another program, which knows the client alone"},
	"hack/demo":            {nil, "it shows the built binary from outside"},
	"hack/fake-ionos":      {of("endpoints/source/ionos/ionostest"), "it is the fake with flags"},
	"hack/mutate":          {nil, "it knows source as text"},
	"test/e2e":             {nil, "it runs the built binary from outside"},
	"test/chart":           {nil, "it installs the chart and runs the built binary from outside"},
	"test/kinds":           {nil, "it holds the definitions of the kinds against an API server"},
	"test/image":           {nil, "it carries out the Dockerfile"},
	"test/deploy":          {nil, "it applies the manifests and runs the built binary from outside"},
	"test/hack":            {nil, "it contains tests only"},
	"test/browser":         {nil, "it looks at the page of the built binary; its tests have fixtures"},
	"internal/archtest":    {nil, "it contains tests only"},
	"test/golden":          {nil, "it compares files, whatever makes them"},
	"test/pipes":           {of("kube"), "it is a network between a client and a server, whatever they say"},
	"test/child":           {nil, "it starts any program"},
	"test/controlplane":    {[]string{"test/child"}, "it stands for a machine that does not know us"},
	"test/kubelet":         {[]string{"test/child"}, "it stands for a machine that does not know us"},
	"test/built":           {nil, "it stands for a machine that does not know us"},
	"test/stage":           {append(of("endpoints/source/ionos/ionostest"), "test/built", "test/controlplane", "test/kubelet", "test/netns", "test/poll"), "it is what the installed binary needs around it"},
	"test/poll":            {nil, "it waits, whatever for"},
	"test/memory":          {nil, "it measures any test"},
	"test/bubble":          {nil, "it is where every package's tests run"},
	"test/netns":           {nil, "it stands for a machine that does not know us"},
	"test/monitoring":      {nil, "it contains tests only"},
	"test/docs":            {nil, "it contains tests only"},
	"test/oracle":          {nil, "it contains tests only"},
	"test/views":           {nil, "it runs the built binary from outside"},
	"test/faults":          {nil, "it contains tests only"},
	"test/conformance":     {nil, "it runs the built binary from outside"},
	"test/simulation":      {of("endpoints/inventory", "endpoints/peers", "endpoints/peers/peerstest", "endpoints/filter", "endpoints/guard", "endpoints/publish", "endpoints/controllertest", "kube/lease", "endpoints/store"), "it is the world around the loop; the loop is the real one"},
	"test/simulation/many": {of("endpoints/inventory", "endpoints/filter", "endpoints/guard", "endpoints/publish", "endpoints/documents", "endpoints/assign", "endpoints/controller", "endpoints/controllertest"), "it is the world around the loops of many Services; they are the real ones"},

	"test/traffic":         {nil, "it stands for users who do not know us"},
	"test/traffic/load":    {[]string{"test/traffic"}, "it is the load as a program"},
	"test/traffic/backend": {nil, "it stands for a worker that does not know us"},

	"test/kubeproxy":  {[]string{"test/built", "test/child", "test/controlplane", "test/netns"}, "it stands for a machine that does not know us"},
	"test/envoy":      {[]string{"test/built", "test/child", "test/netns"}, "it stands for a machine that does not know us"},
	"test/proxies":    {append(of("views/join", "views/cache", "views/xds", "views/xds/envoyconfig"), "test/envoy", "test/netns"), "it asks a proxy as clients do, and tells it what the program tells it"},
	"test/wire":       {nil, "it stands for a machine that does not know us"},
	"test/strain":     {nil, "it stands for a machine that does not know us"},
	"test/lab/poller": {nil, "it stands for a loop that does not know us"},
	"test/apiproxy":   {nil, "it stands for a machine that does not know us"},

	"test/lab": {append(of("endpoints/source/ionos/ionostest"), "test/built", "test/child", "test/controlplane", "test/netns", "test/kubeproxy", "test/envoy", "test/traffic", "test/wire", "test/apiproxy", "test/strain"),
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
		[]string{"internal/kube", "internal/endpoints/store/cluster", "internal/endpoints/source/kubernetes", "internal/endpoints/store/storetest/apiserver", "internal/views/fleet", "test"},
		"whoever talks to a cluster is an adapter; the stages must be testable without one",
	},
	{
		clientMakers,
		[]string{"internal/kube", "internal/endpoints/store/storetest/apiserver", "internal/views/fleet" /* for a library, ADR 44 */, "test"},
		"package kubeapi makes the clients of API servers; another would lack what it has: masked errors, refused redirects, credentials that are read again",
	},
	{
		[]string{"github.com/ionos-cloud"},
		[]string{"internal/endpoints/source/ionos"},
		"the cloud's types, with their nil pointers, are translated at the edge and go no further",
	},
	{
		[]string{"github.com/envoyproxy", "google.golang.org/grpc"},
		[]string{"internal/views/xds", "test"},
		"the types of xDS are made at the edge and go no further",
	},
	{
		[]string{"sigs.k8s.io/controller-runtime"},
		[]string{"internal/views/fleet"},
		"the operator of fleets is built with it; everything else is smaller and faster without",
	},
	{
		[]string{"github.com/prometheus"},
		[]string{"internal/endpoints/metrics", "internal/views/cli", "internal/views/fleet"},
		"everybody else works the same whether anybody counts or not",
	},
	{
		[]string{"os/exec"},
		[]string{"internal/system", "hack", "test"},
		"one place runs programs, with a bound on time and output, and ends the whole process group",
	},
	{
		[]string{"github.com/kelseyhightower/envconfig"},
		[]string{"internal/settings"},
		"one package reads the environment",
	},
	{
		[]string{"log", "log/slog"},
		[]string{"cmd", "internal/endpoints/controllertest", "internal/endpoints/controller", "internal/endpoints/page", "internal/endpoints/cli", "internal/views/stream", "internal/views/xds", "internal/views/cli", "internal/settings", "test/apiproxy" /* http.Server wants one to be silent with */},
		"log or return, never both: stages and adapters return (config parses the level and masks secrets)",
	},
	{
		[]string{"k8s.io/klog"},
		[]string{"internal/kube"},
		"client-go logs through it, so who uses client-go has to quieten it; our own messages are slog's",
	},
	{
		[]string{"testing"},
		[]string{"internal/endpoints/source/sourcetest", "internal/endpoints/store/storetest", "test"},
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
	places:    []string{"internal/settings/naming", "internal/endpoints/inventory", "internal/endpoints/filter", "internal/endpoints/guard", "internal/endpoints/publish", "internal/views/join", "internal/views/xds/envoyconfig", "internal/endpoints/documents", "internal/views/fleet/manifests"},
	forbidden: []string{"context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"},
	clock:     []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"},
	reason:    "a pure stage takes values and returns values, so that a property test can drive it through any history",
}

func TestEveryPackageStatesItsImports(t *testing.T) {
	for _, u := range load(t) {
		report(t, "packages", "the table says what each package may import; internal/archtest/imports_test.go", statesImports(u))
	}
}

// TestTheProgramsDoNotKnowEachOther holds the table itself: each program has a folder, and what
// both need imports neither.
func TestTheProgramsDoNotKnowEachOther(t *testing.T) {
	folders := []string{"internal/endpoints", "internal/views"}
	program := func(dir string) int { return slices.IndexFunc(folders, func(f string) bool { return in(dir, f) }) }
	for dir, row := range allowed {
		if !in(dir, "internal") {
			continue
		}
		for _, imported := range row.imports {
			if of := program(imported); of >= 0 && of != program(dir) {
				t.Errorf("%s may import %s, which only %s may", dir, imported, folders[of])
			}
		}
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
	if !slices.Contains(pure.places, u.dir) {
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
