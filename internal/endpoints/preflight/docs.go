package preflight

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
		{ConfigurationValid, "Every variable is known and its value is valid. There is one entry for each mistake; with a mistake, nothing else is checked and the exit status is 2.", "correct the variable; docs/reference/configuration.md explains each"},
		{ConfigurationUnknown, "No unknown variable begins like one of this program. Such a variable has no effect; it may belong to another program. A misspelt variable of this program is a mistake instead.", "correct the name, or keep the variable if another program uses it"},
		{ConfigurationSubnet, "`SECURED_SUBNET_CIDR` is narrower than the whole address space. It keeps a wrong inventory from publishing foreign addresses.", "set it to the private network of the remote nodes"},
		{ConfigurationHealth, "Endpoints are checked. With `HEALTH_CHECK_MODE=off` only the source decides, and a dead endpoint stays until the source leaves it out.", "set HEALTH_CHECK_MODE to tcp, http or https unless something else checks the endpoints"},
		{ConfigurationThreshold, "Endpoints that are down, and that rejected inventories leave out, are removed after a while. With `EMPTY_RESULT_THRESHOLD=0` they stay published, down, until an inventory is accepted.", "set EMPTY_RESULT_THRESHOLD to the number of rejected inventories in a row after which such endpoints are removed"},
		{ConfigurationRemoval, "One inventory may not remove nearly all endpoints. With `MAX_REMOVAL_PERCENT=100` an inventory is rejected only if it leaves no endpoint in place, or contradicts itself.", "set MAX_REMOVAL_PERCENT to the share that your rotations need, for example 50"},
		{ConfigurationElection, "In a Pod, more than one replica may run at a time. Without leader election all of them read, check and write: nothing breaks, but everything is done twice.", "set LEADER_ELECTION=true, or keep one replica and the strategy Recreate"},
		{ConfigurationDryRun, "The daemon writes. With `DRY_RUN=true` it only says what it would write.", "remove DRY_RUN to let the daemon write"},

		{DocumentsValid, "With `DOCUMENTS_DIR` or `DOCUMENTS_API`: every [document](documents.md) is valid, and within the bounds. There is one entry for each mistake, with its place, field, rule and remedy.", "correct the field; docs/reference/documents.md explains each"},
		{DocumentsKind, "With `DOCUMENTS_API`: the API server has both kinds, and no file has the same document.", "kubectl apply -f deploy/crds, or crds.create=true of the chart"},
		{DocumentsBounds, "With `DOCUMENTS_API`: the NetworkPolicy of the chart opens the port that a pool checks.", "open the port by networkPolicy.extraEgress, or check a port within BOUNDS_PORTS"},

		{SourceRead, "The source returns one complete inventory within `SOURCE_TIMEOUT`. A warning says that it took more than half of that time. With documents, that of each pool; the folder of its credentials has to have the files that the source needs.", "correct what the message names; while the source cannot be read, no endpoint changes because of it"},
		{SourceRight, "In the remote cluster, the user of `SECURED_KUBECONFIG` has the rights to list and watch nodes.", "grant list and watch of nodes by a ClusterRole in the remote cluster"},
		{SourceToken, "The token of the IONOS Cloud is valid for at least two more weeks.", "create a new token and replace the old one; one in a file is used without a restart"},
		{SourceExpiry, "The token or client certificate in `SECURED_KUBECONFIG` does not expire soon; of two, the one that expires first counts. Soon means within two weeks, or within a tenth of its lifetime if that is less. So a credential that is renewed by itself, for example an hourly token, is no warning. The check is skipped if the credential does not say when it expires, and with an exec plugin, which provides a new credential in time.", "renew the credential in SECURED_KUBECONFIG; it is used without a restart; better, use one that is renewed by itself (docs/how-to/kubernetes-source.md)"},
		{SourceWarning, "The source can be read and has no warning about the LAN.", "look in the data centre at what the message names"},

		{NodesUsable, "At least one node has an address that may be published.", "correct the addresses, or extend SECURED_SUBNET_CIDR"},
		{NodesNode, "The node has an address that may be published. Each address that may not be published is named with its [reason](reasons.md). Nodes that are not ready, are no workers or are excluded are skipped.", "see the reason"},

		{ProbesAddress, "The endpoint passes one health check. Each endpoint of a pool is checked once in each way in which its Services have it checked. The message has its answer; if it fails, one of the [reasons](reasons.md) says why.", "see the reason"},
		{ProbesNone, "At least one endpoint passes. If none passes and none answers, the network to them is the most likely cause; if all refuse connections, the workload is.", "find out what the endpoints have in common: the network to them, the port, the workload"},
	}
}

func docsOfCluster() []Doc {
	return []Doc{
		{APIAccess, "There is a configuration for the local API server: the kubeconfig of `KUBECONFIG`, or the ServiceAccount of the Pod.", "set KUBECONFIG to a kubeconfig of the local cluster, or correct the file"},
		{APIReachable, "The local API server answers and accepts the credentials.", "check the address in the kubeconfig, the network and the certificates"},
		{APIIdentity, "The API server recognizes the user of the credentials. Roles are bound to the name of that user.", "put credentials into the kubeconfig that the API server accepts"},
		{APIExpiry, "The same as source-credential, for the local cluster: the kubeconfig of `KUBECONFIG`, or the token of the Pod's ServiceAccount, which the kubelet renews.", "renew the credential in KUBECONFIG; it is used without a restart"},
		{APIKubectl, "With `STORE_KIND=kubectl`: the program runs and reads the Service and its slices.", "set KUBECTL_PATH to a kubectl that is installed, and give it its environment"},

		{RightsServices, "The daemon may read its Services. The rights in a namespace are asked for once, by a SelfSubjectRulesReview. A right that RBAC does not give is skipped where the API server has authorizers that list none.", "grant the right by a Role"},
		{RightsSlices, "The daemon may read the slices of its Service and create and update its own.", "grant the right by a Role"},
		{RightsLeases, "With `LEADER_ELECTION=true`: the daemon may keep its Lease.", "grant the right by a Role"},
		{RightsEvents, "The daemon may create Events. Without this right it works, but reports only in its log.", "grant the right by a Role"},

		{RightsNamespaces, "Where a pool selects namespaces by labels: the daemon may list namespaces.", "grant list of namespaces by a ClusterRole"},

		{ServicePresent, "There is a Service of that name, and it is not being deleted. With documents, every Service that a binding or an annotation names.", "create it, or correct TARGET_NAMESPACE and TARGET_SERVICE_NAME"},
		{ServiceSelector, "The Service has no selector; otherwise Kubernetes manages its endpoints itself.", "remove spec.selector"},
		{ServiceType, "The Service is not of type ExternalName, which has no endpoints.", "make it ClusterIP, NodePort or LoadBalancer"},
		{ServicePorts, "The ports fit: kube-proxy joins the ports of Service and slice by their names.", "correct TARGET_PORT or TARGET_PORTS, or the Service"},
		{ServiceFamilies, "The endpoints are of an IP family that the Service has. Endpoints of another family are published and never used.", "set spec.ipFamilyPolicy: PreferDualStack and spec.ipFamilies, or report addresses of the Service's family"},
		{ServiceTraffic, "Neither `externalTrafficPolicy` nor `internalTrafficPolicy` is `Local`. Remote endpoints are on no node of this cluster, so with `Local` connections would be dropped.", "set the policy to Cluster"},

		{ServiceTopology, "The Service does not ask for near endpoints: these slices have no hints, so that has no effect.", "remove the field or the annotation"},
		{ServiceHeadless, "A headless Service has the port that its endpoints listen on: its clients choose the port themselves.", "give both the same number"},
		{ServiceGranted, "The pool grants the Service what its binding or its annotations ask for; the message has the [reason](events.md).", "follow the message"},
		{ServiceAnnotations, "Each annotation with the prefix of this program has an effect.", "follow the message"},
		{ServiceNetwork, "Never looked at: which Pods are clients is not known.", "see that no NetworkPolicy of the clients forbids the addresses and ports of the endpoints"},

		{SlicesOurs, "The slices with the names of this program belong to it, by the label `endpointslice.kubernetes.io/managed-by`. Other slices are never changed.", "follow the message"},
		{SlicesBeside, "No other slice of the Service holds endpoints that are not checked. kube-proxy uses the endpoints of all slices together, so a dead endpoint there gets its share of the traffic. Never remove such a slice first: it may serve the users now. Let the daemon publish, make sure that its slices have ready endpoints, and then remove the other slice. Slices without endpoints do not count.", "find out which program manages the slice, and whether the Service should have its endpoints"},
	}
}
