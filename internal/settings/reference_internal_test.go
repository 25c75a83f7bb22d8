package settings

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

// TestTheReferenceIsCurrent holds the pages, and the copies that "config docs" prints,
// against the tags of the variables.
func TestTheReferenceIsCurrent(t *testing.T) {
	if len(chapters) != len(partsOf(new(Config))) || len(viewsChapters) != len(partsOf(new(Views))) {
		t.Fatal("a section has no chapter")
	}
	views := viewsReferenceOf()
	for path, got := range map[string]string{
		"../../docs/reference/configuration.md": referenceOf(), "configuration.txt": referenceOf(),
		"endpoint-views.txt": views,
	} {
		golden.Check(t, path, got, "go generate ./internal/settings")
	}
	// The metrics below are made by internal/views/cli.
	golden.CheckPart(t, "../../docs/reference/endpoint-views-configuration.md", "", "## Metrics", views+"\n", "go generate ./internal/settings")
}

// chapter is the text about one section.
type chapter struct{ title, intro, example string }

// chapters are those of the sections of Config, in their order.
var chapters = []chapter{
	{"Source",
		"Where the nodes of the remote cluster come from, and how often they are read.",
		"SOURCE_KIND=file\nINVENTORY_FILE_PATH=/etc/inventory/inventory.json\nSOURCE_POLL_INTERVAL=10s"},
	{"Documents",
		"Many Services from many remote clusters, as [documents](documents.md): in files that end in `.yaml`, `.yml` or `.json`, or in the API server. `DOCUMENTS_DIR` or `DOCUMENTS_API=true` takes the place of every variable of the source, the remote cluster, the target, the health check and the guard. Where a file and an object have the same name, the file counts.",
		"DOCUMENTS_DIR=/etc/endpoints/documents\nCREDENTIALS_DIR=/etc/endpoints/credentials"},
	{"Source: static",
		"A fixed list of nodes, all ready workers, for `SOURCE_KIND=static`.",
		"STATIC_NODES=worker-1=10.0.0.11,worker-2=10.0.0.12"},
	{"Source: file",
		"A JSON inventory that something else keeps up to date, for `SOURCE_KIND=file`.",
		"INVENTORY_FILE_PATH=/etc/inventory/inventory.json"},
	{"Source: command",
		"A program that prints the JSON inventory, for `SOURCE_KIND=command`. It runs once for every read, without a shell. It always gets `PATH`, `HOME`, `KUBECONFIG`, `IONOS_*`, `SECURED_*` and the proxy variables. `$HOME`, backquotes, pipes and the like are refused in its arguments; `*`, `?` and `~` are passed on unchanged. Other users of the machine see arguments. `scripts/render_inventory.py` and the toolbox image, which has it, are [compatible with the original](../how-to/from-the-original.md), not recommended: `SOURCE_KIND=ionos` does the same inside the daemon.",
		"INVENTORY_COMMAND=python3\nINVENTORY_COMMAND_ARGS=\"/etc/inventory/list.py --pool 'web workers'\""},
	{"Remote cluster",
		"The cluster that holds the nodes. An address range has no bits set after its prefix. `REMOTE_SERVICE` is for `externalTrafficPolicy: Local` and for `hostPort`.",
		"SECURED_SUBNET_CIDR=10.0.0.0/24,fd00:10::/64"},
	{"IONOS Cloud",
		"Access to the IONOS Cloud API, for `SOURCE_KIND=ionos` and for inventory commands. Give either a token, or a user name and a password. The nodes are those of `IONOS_CLUSTER_ID`, or without it those that the cluster of `SECURED_KUBECONFIG` lists.",
		"IONOS_TOKEN_FILE=/etc/ionos/token\nIONOS_DATACENTER_ID=0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e\nIONOS_PRIVATE_LAN_ID=2"},
	{"Target",
		"The Service of the local cluster, and its slices. `TARGET_PORTS` has the names of the ports of the Service.",
		"TARGET_NAMESPACE=default\nTARGET_SERVICE_NAME=web\nTARGET_PORT=8080"},
	{"Health check",
		"How endpoints are checked. An endpoint whose last result contradicts its state is checked every tenth of the interval, but at most every 100 ms.",
		"HEALTH_CHECK_MODE=http\nHEALTH_CHECK_PATH=/healthz"},
	{"Guard",
		"How much an inventory, or a daemon that is cut off from the endpoints, may take away. An inventory that removes too much is rejected, and the endpoints that it leaves out stay. After `EMPTY_RESULT_THRESHOLD` rejected inventories in a row these endpoints go: those that were down at each, those that as many new ones replace, and with `HEALTH_CHECK_MODE=off` all. The others stay as long as they pass.",
		"MAX_REMOVAL_PERCENT=30\nDRAIN_PERIOD=1m"},
	{"Store",
		"Where the slices are written. `STORE_KIND=kubectl` is [compatible with the original](../how-to/from-the-original.md), not recommended.",
		"STORE_KIND=client-go"},
	{"Leader election",
		"For more than one replica: only the holder of the lease reads, checks and writes. The other replicas only say which silent endpoints they reach. The lease is renewed every 2 s and expires after 15 s; the rights and what happens when a replica fails are in [run two replicas](../how-to/run-two-replicas.md).",
		"STORE_KIND=client-go\nLEADER_ELECTION=true"},
	{"Addresses to listen on",
		"Two listeners, so that the status page can stay private while probes and metrics are reachable.",
		"METRICS_ADDRESS=0.0.0.0:8081"},
	{"Log",
		"What is logged to standard error, and how.",
		"LOG_LEVEL=debug\nLOG_FORMAT=json"},
	{"Run",
		"What the program may do.",
		"DRY_RUN=true"},
}

// viewsChapters are those of the sections of Views.
var viewsChapters = []chapter{
	{"Cluster", "What is watched.", "VIEWS_NAMESPACES=shop"},
	{"Stream", "How clients are served, and what each may see. A certificate names its client by one URI SAN, `spiffe://VIEWS_TRUST_DOMAIN/ns/NAMESPACE/client/NAME`. A changed authority counts for open connections, too. A client that `VIEWS_IDENTITIES_FILE` does not name sees no Service.", "VIEWS_ADDRESS=0.0.0.0:8443\nVIEWS_TLS_CERT_FILE=/tls/tls.crt\nVIEWS_TLS_KEY_FILE=/tls/tls.key\nVIEWS_IDENTITIES_FILE=/etc/endpoint-views/identities.yaml"},
	{"XDS", "How Envoy and clients of gRPC are served. The certificates are those of the stream. Each client shows one; without `VIEWS_TLS_CERT_FILE` every client of a loopback address sees everything. A fleet that `XDS_FLEETS_FILE` names is as the file says, also with `XDS_WATCH_FLEETS=true`.\n\nA proxy repeats GET, HEAD, OPTIONS, PUT and DELETE as long as the answer has not begun, other methods only where the endpoint got no part of the request. Set `XDS_TRY_TIMEOUT` above the slowest answer: then a node that lost power costs no request. Keep `XDS_UPSTREAM_IDLE_TIMEOUT` below the idle timeout of the endpoints, for many servers 5s: a request on a connection that the endpoint closes is lost. Answers of the application never count for `XDS_EJECT_AFTER`.", "XDS_ADDRESS=0.0.0.0:18000\nXDS_FLEETS_FILE=/etc/endpoint-views/fleets.yaml\nVIEWS_TLS_CERT_FILE=/tls/tls.crt\nVIEWS_TLS_KEY_FILE=/tls/tls.key\nVIEWS_CLIENT_CA_FILE=/tls/ca.crt\nVIEWS_IDENTITIES_FILE=/etc/endpoint-views/identities.yaml"},
	{"Fleet", "How `endpoint-views fleet` makes fleets of Envoys from the kind Envoy. The other commands use none of it; fleet also uses KUBECONFIG and METRICS_ADDRESS.", "FLEET_XDS_SERVER=endpoint-views-xds.infra:18000\nFLEET_IMAGE=ghcr.io/ablmnzde/ionoscloud-endpointslice-controller@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\nFLEET_ENVOY_IMAGE=envoyproxy/envoy@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\nFLEET_SERVE_URL=https://endpoint-views-replicas.infra:8443\nFLEET_SERVE_TOKEN_FILE=/etc/fleet/token"},
	{"Log", "What is logged to standard error, and how.", "LOG_LEVEL=debug"},
}

const referenceHead = "<!-- Generated from internal/settings by \"go generate ./internal/settings\". Do not edit. -->\n" + `
# Configuration

The program is configured by environment variables alone. ` + "`config validate`" + ` checks them, ` + "`config show`" + ` prints what is in effect and where it comes from, and ` + "`config docs`" + ` prints this page.

- All mistakes are reported together, before anything is read, probed or written; the exit status is then 2.
- A variable that is set but blank counts as unset. White space around a value is dropped.
- A misspelling of one of these is a mistake. Any other variable that begins like one of these is a warning, because it may belong to another program: it has no effect, and ` + "`config validate`, `check`" + ` and the log at the start name it. The ones that Kubernetes injects for Services (` + "`*_SERVICE_HOST`, `*_PORT` and so on" + `) and those that the inventory command is given are neither.
- A duration is a number with a unit: ` + "`500ms`, `30s`, `2m`, `1h30m`" + `.
- A secret has a twin with the suffix ` + "`_FILE`" + `, which names a file that holds it. The file is read again at each use, so a rotated secret needs no restart. Secrets are never printed.
- [The chart](../../helm/ionos-endpointslice-controller/README.md) has a value for each variable: ` + "`HEALTH_CHECK_INTERVAL`" + ` is ` + "`controller.healthCheckInterval`" + `.
`

// mainExample is an installation with the main variables.
const mainExample = `SOURCE_KIND=ionos
SECURED_SUBNET_CIDR=10.7.222.0/24
SECURED_KUBECONFIG=/etc/remote/kubeconfig
IONOS_TOKEN_FILE=/etc/ionos/token
IONOS_DATACENTER_ID=0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e
IONOS_PRIVATE_LAN_ID=2
TARGET_NAMESPACE=backends
TARGET_SERVICE_NAME=web
TARGET_PORT=8080
STORE_KIND=client-go
LEADER_ELECTION=true
METRICS_ADDRESS=0.0.0.0:8081`

// partsOf are the parts of a configuration, each of which has a chapter.
func partsOf(config any) (parts []any) {
	value := reflect.ValueOf(config).Elem()
	for i := range value.NumField() {
		if value.Type().Field(i).IsExported() {
			parts = append(parts, value.Field(i).Addr().Interface())
		}
	}
	return parts
}

// referenceOf makes the documentation of all variables as Markdown: first those
// that nearly every installation sets, then the others by section.
func referenceOf() string {
	var page strings.Builder
	page.WriteString(referenceHead)
	page.WriteString("\n## Main\n\nNearly every installation sets some of these, and many set no others.\n\n")
	c := new(Config)
	page.WriteString(table(variablesOf(c), isMain))
	fmt.Fprintf(&page, "\n```sh\n%s\n```\n", mainExample)
	page.WriteString("\n## Advanced\n\nThe other variables, by subject.\n")
	for i, s := range chapters {
		fmt.Fprintf(&page, "\n### %s\n\n%s\n\n", s.title, s.intro)
		page.WriteString(table(variablesOf(partsOf(c)[i]), func(v variable) bool { return !isMain(v) }))
		fmt.Fprintf(&page, "\n```sh\n%s\n```\n", s.example)
	}
	return page.String()
}

const viewsReferenceHead = "<!-- Generated from internal/settings by \"go generate ./internal/settings\". Do not edit. -->\n" + `
# Configuration of endpoint-views

The program is configured by environment variables alone. ` + "`endpoint-views config validate`" + ` checks them, ` + "`config show`" + ` prints what is in effect and where it comes from, and ` + "`config docs`" + ` prints this page.

- All mistakes are reported together, before anything is read; the exit status is then 2.
- A variable that is set but blank counts as unset. White space around a value is dropped.
- A misspelling of one of these is a mistake. Any other variable that begins like one of these has no effect; ` + "`endpoint-views config validate` and the log of `endpoint-views serve`" + ` name it.
- ` + "`endpoint-views get`" + ` and ` + "`endpoint-views explain`" + ` use ` + "`KUBECONFIG`, or else `~/.kube/config`" + `, as kubectl does.
- [Endpoint views](../how-to/endpoint-views.md) shows how to use them.
`

// viewsReferenceOf makes the documentation of the variables of endpoint-views.
func viewsReferenceOf() string {
	var page strings.Builder
	page.WriteString(viewsReferenceHead)
	for i, s := range viewsChapters {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n", s.title, s.intro)
		page.WriteString(table(variablesOf(partsOf(new(Views))[i]), func(variable) bool { return true }))
		fmt.Fprintf(&page, "\n```sh\n%s\n```\n", s.example)
	}
	return page.String()
}

// isMain tells the variables that nearly every installation sets.
func isMain(v variable) bool {
	switch v.name {
	case "SOURCE_KIND",
		"SECURED_SUBNET_CIDR", "SECURED_KUBECONFIG", "SECURED_NODE_SELECTOR",
		"IONOS_TOKEN", "IONOS_DATACENTER_ID", "IONOS_PRIVATE_LAN_ID",
		"TARGET_NAMESPACE", "TARGET_SERVICE_NAME", "TARGET_PORT",
		"HEALTH_CHECK_MODE", "HEALTH_CHECK_PATH",
		"STORE_KIND", "LEADER_ELECTION", "METRICS_ADDRESS":
		return true
	}
	return false
}

// table has a row for each variable that is wanted.
func table(all []variable, wanted func(variable) bool) string {
	var text strings.Builder
	text.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, v := range all {
		if !wanted(v) {
			continue
		}
		name := code(v.name)
		if _, ok := v.secret(); ok {
			name += " or " + code(v.name+fileSuffix)
		}
		fmt.Fprintf(&text, "| %s | %s | %s |\n", name, defaultOf(v.tags), cell(meaning(v)))
	}
	return text.String()
}

// defaultOf says what an unset variable stands for. A fallback is a default in
// words, which follows from something else.
func defaultOf(tags reflect.StructTag) string {
	if tags.Get("required") == "true" {
		return "**required**"
	}
	if value := tags.Get("default"); value != "" {
		return code(value)
	}
	if fallback := tags.Get("fallback"); strings.HasPrefix(fallback, "<") {
		return code(fallback)
	}
	return variableInText.ReplaceAllString(tags.Get("fallback"), "`$0`")
}

// variableInText finds the names of variables in a description, with the value
// that may follow.
var variableInText = regexp.MustCompile(`\b[A-Z]+(_[A-Z]+)+(=[a-z-]+|_?\*)?|\b(IONOS|SECURED)_\*`)

// meaning puts together what the tags say of a variable.
func meaning(v variable) string {
	desc := v.tags.Get("desc")
	text := variableInText.ReplaceAllString(strings.ToUpper(desc[:1])+desc[1:]+".", "`$0`")
	if choices := v.tags.Get("oneof"); choices != "" {
		text += " One of " + code(strings.Split(choices, ",")...) + "."
	}
	if v.tags.Get("min") != "" {
		text += " Limits: " + v.tags.Get("min") + " to " + v.tags.Get("max") + "."
	}
	if example := v.tags.Get("example"); example != "" {
		text += " Example: " + code(example) + "."
	}
	return text
}

// code sets words in code style, separated by commas.
func code(words ...string) string { return "`" + strings.Join(words, "`, `") + "`" }

// cell keeps a text from ending its table cell or becoming HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}
