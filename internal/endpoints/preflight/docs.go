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
	return []Doc{
		{ConfigurationValid, "Every variable is known and its value is valid. There is one entry for each mistake; with a mistake no other check runs, and the exit status is 2.", "correct the variable; docs/reference/configuration.md explains each"},
		{ConfigurationUnusual, "A warning for what is allowed and seldom intended: an unknown variable that begins like one of this program and has no effect; `DRY_RUN=true`; no leader election in a Pod; a subnet of all addresses, which lets a wrong inventory publish foreign ones; and `HEALTH_CHECK_MODE=off`, with which a dead endpoint stays until the source leaves it out.", "follow the message"},

		{DocumentsValid, "With `DOCUMENTS_DIR` or `DOCUMENTS_API`: every [document](documents.md) is valid, and within the bounds. There is one entry for each mistake, with its place, field, rule and remedy. A warning names a kind that the API server lacks, an object that a file replaces, and a pool that checks a port which the NetworkPolicy of the chart does not open.", "correct the field; docs/reference/documents.md explains each"},

		{SourceRead, "The source returns one complete inventory within `SOURCE_TIMEOUT`. With documents, that of each pool; the folder of its credentials has to have the files that the source needs. A warning says what seems wrong with the LAN of the IONOS Cloud.", "correct what the message names; while the source cannot be read, no endpoint changes because of it"},
		{SourceRight, "In the remote cluster, the user of `SECURED_KUBECONFIG` has the rights to list and watch nodes.", "grant list and watch of nodes by a ClusterRole in the remote cluster"},
		{SourceExpiry, "The token of the IONOS Cloud, or the token or client certificate in `SECURED_KUBECONFIG`, does not expire soon; of two, the one that expires first counts. Soon means within two weeks, or within a tenth of its lifetime if that is less. So a credential that is renewed by itself, for example an hourly token, is no warning. The check is skipped if the credential does not say when it expires, and with an exec plugin, which provides a new credential in time.", "renew the credential in SECURED_KUBECONFIG, or the token; one in a file is used without a restart; better, use one that is renewed by itself (docs/how-to/kubernetes-source.md)"},

		{NodesUsable, "At least one node has an address that may be published.", "correct the addresses, or extend SECURED_SUBNET_CIDR"},
		{NodesNode, "The node has an address that may be published. Each address that may not be published is named with its [reason](reasons.md). Nodes that are not ready, are no workers or are excluded are skipped.", "see the reason"},
		{NodesNodePort, "Each endpoint has an address that its Node has in the remote cluster too. A warning names those that do not, as on a private LAN that the IONOS API knows and the Node does not. In iptables mode kube-proxy opens NodePorts at every address of a node. In nftables mode, the default from Kubernetes 1.40, it opens them at the Node's own address, and refuses them elsewhere. The mode is not known, so the warning stays after you have set `nodePortAddresses`. `hostPort` and `hostNetwork` are not concerned.", "set nodePortAddresses of kube-proxy to the subnet, before its mode changes (docs/how-to/kubernetes-source.md)"},
		{NodesRemote, "Each remote Service that is followed (`REMOTE_SERVICE`, `remoteService`) can be read and is there. Its policy is `Local`, or it has no NodePort: with policy `Cluster` each node forwards, so following the Service has no effect. The port of the endpoints is one of its nodePorts, and not that of another Service of its namespace. The inventory lists each node with a ready Pod.", "follow the message"},

		{APIReachable, "There is a configuration for the local API server, the kubeconfig of `KUBECONFIG` or the ServiceAccount of the Pod; the server answers, accepts the credentials, and names their user. Roles are bound to the name of that user.", "set KUBECONFIG to a kubeconfig of the local cluster, and check the address, the credentials and the certificates in it, and the network"},
		{APIExpiry, "The same as source-credential, for the local cluster: the kubeconfig of `KUBECONFIG`, or the token of the Pod's ServiceAccount, which the kubelet renews.", "renew the credential in KUBECONFIG; it is used without a restart"},
		{APIKubectl, "With `STORE_KIND=kubectl`: the program runs and reads the Service and its slices.", "set KUBECTL_PATH to a kubectl that is installed, and give it its environment"},
		{APIReplicas, "How many replicas there are, and on which nodes: the leader, which holds the Lease, and the standbys, each with a line in a second Lease, whose name ends in `-reached`. Before an endpoint that does not answer goes down, [the leader asks the standbys](../explanation/concepts.md#some-endpoints-silent-for-the-leader-alone). A warning says that all are on one node, where they lose their network together, or that a Lease cannot be read. A standby that was killed counts until another replica leads. With `LEADER_ELECTION=false` there is one replica, and no other one to ask.", "run the replicas on different nodes (docs/how-to/run-two-replicas.md), and grant the rights to both Leases"},

		{RightsGranted, "The daemon has its rights: it may read its Services and slices, create and update slices, create Events (without that it reports only in its log), keep its Lease and that of the replies (`-reached`) with `LEADER_ELECTION=true`, and list namespaces where a pool selects them by labels. The rights in a namespace are asked for once, by a SelfSubjectRulesReview. A right that RBAC does not give is skipped where the API server has authorizers that list none.", "grant the right by a Role, that to list namespaces by a ClusterRole"},

		{ServiceValid, "The Service can be filled. It exists and is not being deleted, has no selector, is not of type ExternalName, and its ports fit; the pool grants what the binding or the annotations ask for; each annotation with the prefix of this program has an effect. With documents, every Service that a binding or an annotation names. The message has the [reason](reasons.md#events).", "follow the message"},
		{ServiceClients, "The clients of the Service get through to its endpoints: no traffic policy is `Local`, because remote endpoints are on no node of this cluster; the Service has the IP families of the endpoints; a headless Service has the port of its endpoints; and it does not ask for near endpoints, because these slices have no hints. NetworkPolicies are never looked at: which Pods are clients is not known.", "follow the message"},

		{SlicesOurs, "The slices with the names of this program belong to it, by the label `endpointslice.kubernetes.io/managed-by`. Other slices are never changed.", "follow the message"},
		{SlicesBeside, "No other slice of the Service holds endpoints that are not checked. kube-proxy uses the endpoints of all slices together, so a dead endpoint there gets its share of the traffic. Never remove such a slice first: it may serve the users now. Let the daemon publish, make sure that its slices have ready endpoints, and then remove the other slice. Slices without endpoints do not count.", "find out which program manages the slice, and whether the Service should have its endpoints"},
		{SlicesKept, "Each slice of this program belongs to a pool that a document describes. The endpoints of another slice stay published and get no health check. Only namespaces that a document names are searched.", "write the document of the pool again, or delete the slice if no client needs its endpoints"},

		{ProbesAddress, "The endpoint passes one health check. Each endpoint of a pool gets one health check of each kind that its Services use. The message has its answer; if it fails, one of the [reasons](reasons.md) says why.", "see the reason"},
		{ProbesNone, "At least one endpoint passes. If none passes and none answers, the network to them is the most likely cause; if all refuse connections, the workload is.", "find out what the endpoints have in common: the network to them, the port, the workload"},
	}
}
