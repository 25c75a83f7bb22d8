package preflight

import (
	"fmt"
	"slices"
	"strings"
)

//go:generate go test . -run TestTheReferenceOfChecksIsUpToDate -update

// Doc explains one kind of check for the reference, and holds the remedy where
// the check has none that is closer.
type Doc struct {
	ID      ID
	Meaning string
	Remedy  string
}

// Docs lists every kind of check with its meaning and what to do about it.
func Docs() []Doc {
	return append(docsOfConfiguration(), docsOfCluster()...)
}

func docsOfConfiguration() []Doc {
	return []Doc{
		{ConfigurationValid, "Every variable is known and holds what it may hold. One entry for each mistake; with one, nothing else is looked at and the exit status is 2.", "correct the variable; docs/reference/configuration.md explains each"},
		{ConfigurationUnknown, "No variable only begins like one of ours. Such a variable has no effect here; it may belong to another program. A misspelling of one of ours is a mistake instead.", "correct the name, or leave it to the program that it belongs to"},
		{ConfigurationSubnet, "`SECURED_SUBNET_CIDR` is narrower than the whole address space. It is what keeps a wrong inventory from pointing the load balancer anywhere.", "set it to the private network of the remote nodes"},
		{ConfigurationHealth, "Backends are checked. With `HEALTH_CHECK_MODE=off` only the source decides, and a dead backend stays until it does.", "set HEALTH_CHECK_MODE to tcp, http or https unless something else checks the backends"},
		{ConfigurationThreshold, "Endpoints that are down and that rejected inventories leave out are removed some time. With `EMPTY_RESULT_THRESHOLD=0` they stay published, down, until an inventory is accepted.", "set EMPTY_RESULT_THRESHOLD to how many rejected inventories in a row are proof"},
		{ConfigurationRemoval, "One inventory may not take nearly all endpoints away. With `MAX_REMOVAL_PERCENT=100` only one that leaves nothing in place, or contradicts itself, is rejected.", "set MAX_REMOVAL_PERCENT to the share that your rotations need, 50 for example"},
		{ConfigurationElection, "In a Pod, more than one replica may run at a time. Without leader election all of them read, probe and write; nothing breaks, and everything is done twice.", "set LEADER_ELECTION=true, or keep one replica and the strategy Recreate"},
		{ConfigurationDryRun, "The daemon writes. With `DRY_RUN=true` it only says what it would write.", "remove DRY_RUN when you have seen enough"},
		{ConfigurationConcurrency, "If all candidates of the last read were silent, one round of checks would still fit into `HEALTH_CHECK_INTERVAL`: silent ones get three quarters of `HEALTH_CHECK_CONCURRENCY`, and each holds its slot for `HEALTH_CHECK_TIMEOUT`. With the defaults that is up to 384 candidates. Otherwise it takes longer to see that the network is cut off, or which of many backends are dead; a single dead backend is noticed as fast as ever. With `--only configuration` this is not looked at, because the source is not read.", "set HEALTH_CHECK_CONCURRENCY higher, HEALTH_CHECK_INTERVAL longer or HEALTH_CHECK_TIMEOUT shorter"},

		{SourceRead, "The source answers one complete read within `SOURCE_TIMEOUT`. A warning says that it took more than half of it.", "see what the message names; a source that cannot be read changes no member"},
		{SourceRight, "In the remote cluster, the user of `SECURED_KUBECONFIG` has the rights by which nodes are watched.", "grant list and watch of nodes by a ClusterRole in the remote cluster"},
		{SourceToken, "The token of the IONOS Cloud is valid for two weeks more at least.", "make a new token and put it in place of the old one; with IONOS_TOKEN_FILE no restart is needed"},
		{SourceExpiry, "The token or client certificate in `SECURED_KUBECONFIG`, the one that ends sooner, does not end soon: within two weeks, or within a tenth of its lifetime where that is less. One that renews itself, an hourly token for example, is therefore no warning. Skipped where it does not say when it ends, and with an exec plugin, which is asked again in time.", "renew the credential in SECURED_KUBECONFIG, it is used without a restart; better, use one that renews itself (docs/how-to/kubernetes-source.md)"},
		{SourceLimit, "The IONOS Cloud API leaves a tenth of its rate limit at least.", "set SOURCE_POLL_INTERVAL higher, or see who else uses up the contract's limit"},
		{SourceWarning, "The source finds nothing odd about the LAN although it can be read.", "look at what the message names in the data centre"},

		{NodesUsable, "At least one node has an address that may be published.", "correct the addresses, or extend SECURED_SUBNET_CIDR"},
		{NodesNode, "The node has an address that may be published; each address that may not is named with its [reason](reasons.md). Nodes that are not ready, no workers or excluded are skipped.", "see the reason"},

		{ProbesAddress, "The candidate passes one health check. What it answered is in the message, why it failed is one of the [reasons](reasons.md).", "see the reason"},
		{ProbesNone, "At least one candidate passes. When none does, the way to them is the first suspect if none answers, and the workload if all refuse.", "see what the candidates have in common: the way to them, the port, the workload"},
	}
}

func docsOfCluster() []Doc {
	return []Doc{
		{APIAccess, "There is a way to the local API server: the kubeconfig of `KUBECONFIG`, or the ServiceAccount of the Pod.", "set KUBECONFIG to a kubeconfig of the local cluster, or correct the file"},
		{APIReachable, "The local API server answers and accepts the credentials.", "check the address in the kubeconfig, the network and the certificates"},
		{APIIdentity, "The API server knows us as somebody. The name is the one that Roles are bound to.", "put credentials into the kubeconfig that the API server accepts"},
		{APIExpiry, "The same as source-credential, of the local cluster: the kubeconfig of `KUBECONFIG`, or the token of the Pod's ServiceAccount, which the kubelet renews.", "renew the credential in KUBECONFIG; it is used without a restart"},
		{APIKubectl, "With `STORE_KIND=kubectl`: the program runs and reads the Service and its slices.", "set KUBECTL_PATH to a kubectl that is installed, and give it its environment"},

		{RightsServices, "The daemon may read its Service. Each right is asked for by a SelfSubjectAccessReview.", "grant the right by a Role"},
		{RightsSlices, "The daemon may read the slices of its Service and create and update its own.", "grant the right by a Role"},
		{RightsLeases, "With `LEADER_ELECTION=true`: the daemon may keep its Lease.", "grant the right by a Role"},
		{RightsEvents, "The daemon may tell by Events what happens. Without the right it works, and only its log tells.", "grant the right by a Role"},

		{ServicePresent, "There is a Service of that name, and it is not being deleted.", "create it, or correct TARGET_NAMESPACE and TARGET_SERVICE_NAME"},
		{ServiceSelector, "The Service has no selector; otherwise Kubernetes manages its endpoints itself.", "remove spec.selector"},
		{ServiceType, "The Service is not of type ExternalName, which has no endpoints.", "make it ClusterIP, NodePort or LoadBalancer"},
		{ServicePorts, "The ports fit: kube-proxy joins the ports of Service and slice by their names.", "correct TARGET_PORT or TARGET_PORTS, or the Service"},
		{ServiceFamilies, "The candidates are of a family that the Service has. Endpoints of another family are published and never used.", "set spec.ipFamilyPolicy: PreferDualStack and spec.ipFamilies, or report addresses of the Service's family"},
		{ServiceTraffic, "Neither `externalTrafficPolicy` nor `internalTrafficPolicy` is `Local`: remote backends are on no node of this cluster, so connections from there would be dropped.", "set the policy to Cluster"},

		{SlicesOurs, "The slices of our names are ours, by the label `endpointslice.kubernetes.io/managed-by`. Others are never touched.", "see the message"},
		{SlicesBeside, "No other slice of the Service holds endpoints that nobody keeps right. kube-proxy uses the endpoints of all slices together, so a dead one there gets its share of the traffic. Never remove it first: it may be what serves the users now. Let the daemon publish, see ready endpoints in our slices, and then remove it. Slices without endpoints do not count.", "find out who manages the slice and whether the Service shall have its endpoints"},
		{SlicesEndpoints, "There is no Endpoints object of the Service's name that Kubernetes would mirror into a slice beside ours. Looked at only where the right to get Endpoints is there; the daemon does not need it. The order of the remedy is that of slices-beside: first ours, then the label `endpointslice.kubernetes.io/skip-mirror: \"true\"` or the deletion of the object, and the mirrored slice goes by itself.", "label it endpointslice.kubernetes.io/skip-mirror=true, after ours are ready"},
	}
}

const referenceHead = "<!-- Generated from internal/preflight by \"go generate ./internal/preflight\". Do not edit. -->\n" + `
# What check looks at

` + "`check`" + ` looks at everything that has to be right before the daemon can work, in the order of this page. It changes nothing, and asks for no right that the daemon itself can do without. ` + "`--timeout`" + ` bounds all of it.

| result | meaning |
|---|---|
| ` + "`ok`" + ` | as it should be |
| ` + "`warn`" + ` | legal, and seldom what is wanted |
| ` + "`fail`" + ` | the daemon would not do what it is for |
| ` + "`skip`" + ` | not looked at, or not meant to be published; the message says why |

Exit status: 0 nothing failed; 1 something failed; 2 the configuration is wrong; 124 time-out.

` + "`--only AREA`" + ` looks at one area and no other. For several, put commas between them or give ` + "`--only`" + ` again. The exit status counts only what was looked at. A wrong configuration is always told.

| area | is | needs |
|---|---|---|
%s
What an area needs is looked at as well, and shown if it failed. If the source cannot be read, ` + "`rights` and `service`" + ` are judged without the nodes, and the source is shown as ` + "`skip`" + `.

` + "`--short`" + ` prints one line for each area, and below it what is ` + "`warn` or `fail`" + `: one line for all that have the same reason. In a document it leaves the other checks out.

` + "`-o json`" + ` and ` + "`-o yaml`" + ` print one document:

| field | holds |
|---|---|
| ` + "`ok`" + ` | whether nothing failed |
| ` + "`summary`" + ` | the sentence at the end of the text |
| ` + "`counts`" + ` | how many checks came to each result: ` + "`ok`, `warn`, `fail`, `skip`" + ` |
| ` + "`areas[].section`, `areas[].result`, `areas[].counts`" + ` | the area, the worst result of its checks, and how many came to each |
| ` + "`checks[].id`" + ` | the kind of the check: a heading of this page |
| ` + "`checks[].section`" + ` | the area |
| ` + "`checks[].result`" + ` | see above |
| ` + "`checks[].subject`" + ` | what was looked at: a variable, a node and its address, a right, an object |
| ` + "`checks[].message`" + ` | what was found, with the actual values |
| ` + "`checks[].reason`" + ` | the [reason](reasons.md) of a node or address, where there is one |
| ` + "`checks[].remedy`, `checks[].link`" + ` | what to do, and the heading of this page; for ` + "`warn` and `fail`" + ` |
`

// Reference returns docs/reference/check.md.
func Reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, referenceHead, areaTable())
	for _, section := range Sections() {
		fmt.Fprintf(&b, "\n## %s\n", section.Title())
		for _, doc := range Docs() {
			if doc.ID.section() == section {
				fmt.Fprintf(&b, "\n### %s\n\n%s\n\nWhat to do: %s.\n", doc.ID, doc.Meaning, doc.Remedy)
			}
		}
	}
	return b.String()
}

// areaTable lists the areas and what they need.
func areaTable() string {
	var b strings.Builder
	for _, section := range Sections() {
		var ids []string
		for _, id := range slices.Concat(section.needs(), section.uses()) {
			ids = append(ids, "`"+string(id)+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", section, section.Title(), strings.Join(ids, ", "))
	}
	return b.String()
}
