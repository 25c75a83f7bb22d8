package narration

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"

// NoticeDoc explains one reason.
type NoticeDoc struct {
	Reason NoticeReason
	// When says what happened, Remedy what to do.
	When, Remedy string
}

// NoticeReasons explains every reason.
func NoticeReasons() []NoticeDoc {
	return []NoticeDoc{
		{EndpointsUpdated, "slices were written; the note lists what was added, removed, changed and moved, with the new states", "nothing to do"},
		{SourceUnavailable, "a read of the source failed, the first one or the first after one that succeeded; endpoints stay as they are and still follow their health checks", "see the error in the note; the source is asked again by itself"},
		{SourceRecovered, "the source can be read again", "nothing to do"},
		{StoreUnavailable, "the Service or its slices cannot be read, or what is known of them may be out of date: the watch is refused or silent. Health checks still decide, and changes are still written", "see the error in the note: give the daemon the right to list and watch services and endpointslices, or repair its connection to the API server"},
		{StoreRecovered, "the Service and its slices can be read again", "nothing to do"},
		{StoredOtherwise, "the API server stored something else than was sent: an admission policy or a webhook changes slices; the same is sent again ever more rarely, up to every 5 min, a change at once", "exempt slices with our managed-by label from the policy or webhook"},
		{RemovalHeld, "the mode became Hold: an inventory was rejected because it would take too much away, or most endpoints are silent at once, or only endpoints that leave pass. What passes stays ready. The note says which of these it is, and what will be removed when", "check the source, or the network of this daemon; if the removal is meant, do what the note says"},
		{RemovalPending, "the mode is Hold, and further rejected inventories will remove endpoints that are down; the note says how many, and when the first", "check whether these nodes are really gone: if not, repair the source before that time, or set EMPTY_RESULT_THRESHOLD=0"},
		{RemovalAccepted, "EMPTY_RESULT_THRESHOLD rejected inventories in a row left endpoints out, and these were removed: they were down at each, or as many new ones pass; with HEALTH_CHECK_MODE=off all of them. The note lists them", "check whether these nodes are really gone; an endpoint comes back as soon as an inventory lists it and it passes"},
		{RemovalReleased, "the mode Hold ended", "nothing to do"},
		{FailOpenEngaged, "the mode became FailOpen: no endpoint passes its health check, and all that stay are published ready", "find out why every endpoint fails: the workload, its port, or the network between it and this daemon"},
		{FailOpenCleared, "the mode FailOpen ended", "nothing to do"},
		{NoticeReason(plan.ServiceMissing), "there is no Service of that name; its slices are left as they are", "create it without a selector, or correct TARGET_NAMESPACE and TARGET_SERVICE_NAME"},
		{NoticeReason(plan.ServiceDeleting), "the Service is being deleted", "create it again when it is gone, if it is still wanted"},
		{NoticeReason(plan.ServiceHasSelector), "the Service has a selector, so Kubernetes manages its endpoints itself", "remove spec.selector"},
		{NoticeReason(plan.ServiceExternalName), "the Service is of type ExternalName, which has no endpoints", "make it ClusterIP, NodePort or LoadBalancer"},
		{NoticeReason(plan.PortMismatch), "the Service has no port that fits TARGET_PORT or TARGET_PORTS", "correct the variable or the Service; the note lists its ports"},
		{SliceOwnedByOther, "a slice has a name of this daemon, but belongs to another program or another Service; it is left alone", "see the note: set TARGET_ENDPOINTSLICE_NAME to another name, or delete the slice if its manager is not in use any more"},
		{MirroredSliceFound, "a slice of another name publishes endpoints for the Service too, which this daemon does not check; often it mirrors a leftover Endpoints object", "wait until the slices of this daemon hold the ready endpoints that are needed; then label the Endpoints object `endpointslice.kubernetes.io/skip-mirror=true`, or do what the note says of another manager"},
		{Invalid, "the annotations of the Service, its binding, or the document of a pool that fills it, are not valid; what was published before stays", "correct what the note names"},
		{PoolNotAllowed, "the namespace may not use a pool of that name, or there is none: nothing is published from it", "correct the name, or ask the platform to name the namespace in `spec.allow` of the pool"},
		{PortNotAllowed, "the pool does not allow the namespace a port of the endpoints or of the health check: nothing is published from it", "use an allowed port, or ask the platform to add it to `spec.allow` of the pool"},
		{LimitReached, "the namespace has as many Services or distinct checks as the pool allows", "use the check of the pool, take the pool from a Service, or ask the platform for more"},
		{HealthCheckPortAmbiguous, "the Service has not exactly one TCP port, so it is not clear which one to check", "set the port of the health check"},
		{UnknownAnnotation, "the Service has an annotation that begins with `endpoints.ablmnzde.github.io/` and is not known; it has no effect", "the note names the one that may be meant"},
		{BindingWins, "the Service has the annotation of a pool and an EndpointBinding: the binding counts", "remove one of them"},
		{TrafficPolicyLocal, "with `externalTrafficPolicy` or `internalTrafficPolicy` `Local` a node uses only endpoints on itself, and remote endpoints are on no node of this cluster: connections are dropped.", "set it to Cluster"},
		{TopologyIgnored, "`spec.trafficDistribution` or an annotation asks for near endpoints, which needs hints in every slice; it has no effect", "remove it"},
		{FamilyUnused, "the Service lacks the address family of endpoints, so these are published but never used", "add the family to `spec.ipFamilies`, or leave the subnet out"},
		{HeadlessPort, "the Service is headless, and its endpoints listen on another port than the Service's: clients choose the port themselves", "give both the same number"},
		{TakesOverWithLess, "the documents of the Service name another pool, port or health check, of which too few endpoints pass: those of before stay", "make more of the new endpoints pass, or do what the message says"},
	}
}
