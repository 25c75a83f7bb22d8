package naming

// Group is the group of the kinds and annotations of this program.
const Group = "endpoints.ablmnzde.github.io"

// Setting is one setting that a message may name.
type Setting struct {
	// Variable is the environment variable, which is the name that messages are
	// composed with.
	Variable string
	// Field is the path in an EndpointPool or EndpointBinding.
	Field string
	// Annotation is the name of the annotation on the Service, without the group;
	// empty where a Service has none for it. Such a setting is the pool's.
	Annotation string
	// Words are the values that documents and annotations spell otherwise than
	// the variable does, in pairs; nil where there are none.
	Words []Word
	// Kind is Binding where no pool has the setting. It is empty where only pools have it, or
	// where there is an annotation.
	Kind Kind
}

// Word is one value of a setting.
type Word struct {
	// Variable is the value in the environment, Document elsewhere.
	Variable, Document string
}

// modes are those of the health check.
var modes = []Word{{"off", "None"}, {"tcp", "TCP"}, {"https", "HTTPS"}, {"http", "HTTP"}}

// All lists every setting of a document that a message may name, sorted by section.
func All() []Setting {
	return []Setting{
		{Variable: "SOURCE_KIND", Field: "spec.source"},
		{Variable: "SOURCE_POLL_INTERVAL", Field: "spec.pollInterval"},
		{Variable: "STATIC_NODES", Field: "spec.source.static.nodes"},
		{Variable: "INVENTORY_FILE_PATH", Field: "spec.source.file.path"},
		{Variable: "INVENTORY_COMMAND", Field: "spec.source.command.path"},
		{Variable: "INVENTORY_COMMAND_ARGS", Field: "spec.source.command.args"},
		{Variable: "SECURED_SUBNET_CIDR", Field: "spec.subnets"},
		{Variable: "SECURED_NODE_SELECTOR", Field: "spec.source.kubernetes.nodeSelector"},
		// A pool names a folder; what is in it, a kubeconfig or a token, has no
		// field of its own.
		{Variable: "SECURED_KUBECONFIG", Field: "spec.credentials"},
		{Variable: "SECURED_KUBECTL_CONTEXT", Field: "spec.credentials"},
		{Variable: "IONOS_TOKEN", Field: "spec.credentials"},
		{Variable: "IONOS_TOKEN_FILE", Field: "spec.credentials"},
		{Variable: "IONOS_USERNAME", Field: "spec.credentials"},
		{Variable: "IONOS_PASSWORD", Field: "spec.credentials"},
		{Variable: "IONOS_PASSWORD_FILE", Field: "spec.credentials"},
		{Variable: "IONOS_DATACENTER_ID", Field: "spec.source.ionos.datacenterID"},
		{Variable: "IONOS_PRIVATE_LAN_ID", Field: "spec.source.ionos.lanID"},
		{Variable: "IONOS_CLUSTER_ID", Field: "spec.source.ionos.clusterID"},
		{Variable: "HEALTH_CHECK_INTERVAL", Field: "spec.healthCheck.interval"},
		{Variable: "HEALTH_CHECK_TIMEOUT", Field: "spec.healthCheck.timeout"},
		{Variable: "HEALTH_CHECK_RISE", Field: "spec.healthCheck.rise"},
		{Variable: "HEALTH_CHECK_FALL", Field: "spec.healthCheck.fall"},
		{Variable: "HEALTH_CHECK_HOLD_CONNECTION", Field: "spec.healthCheck.holdConnection"},
		{Variable: "HEALTH_CHECK_TLS_CA_FILE", Field: "spec.credentials"},
		{Variable: "HEALTH_CHECK_TLS_SERVER_NAME", Field: "spec.healthCheck.tlsServerName"},
		{Variable: "HEALTH_CHECK_TLS_INSECURE", Field: "spec.healthCheck.tlsInsecure"},
		{Variable: "HEALTH_CHECK_MAX_SILENT_PERCENT", Field: "spec.guard.maxSilentPercent"},
		{Variable: "HEALTH_CHECK_FAIL_OPEN", Field: "spec.guard.failOpen"},
		{Variable: "EMPTY_RESULT_THRESHOLD", Field: "spec.guard.emptyResultThreshold"},
		{Variable: "MAX_REMOVAL_PERCENT", Field: "spec.guard.maxRemovalPercent"},
		{Variable: "DRAIN_PERIOD", Field: "spec.guard.drainPeriod"},
		// An EndpointBinding, or annotations, may set these for one Service. A binding has the
		// name and the namespace of its Service.
		{Variable: "TARGET_NAMESPACE", Field: "metadata.namespace", Kind: Binding},
		{Variable: "TARGET_SERVICE_NAME", Field: "metadata.name", Kind: Binding},
		{Variable: "TARGET_PORT", Field: "spec.ports", Kind: Binding},
		{Variable: "TARGET_PORTS", Field: "spec.ports", Kind: Binding},
		{Variable: "TARGET_ENDPOINTSLICE_NAME", Field: "spec.adopt", Kind: Binding},
		{Variable: "REMOTE_SERVICE", Field: "spec.pools[].remoteService", Kind: Binding},
		{Variable: "HEALTH_CHECK_MODE", Field: "spec.healthCheck.mode", Annotation: "health-check-mode", Words: modes},
		{Variable: "HEALTH_CHECK_PORT", Field: "spec.healthCheck.port", Annotation: "health-check-port"},
		{Variable: "HEALTH_CHECK_PATH", Field: "spec.healthCheck.path", Annotation: "health-check-path"},
		{Variable: "HEALTH_CHECK_HOST", Field: "spec.healthCheck.host", Annotation: "health-check-host"},
		{Variable: "HEALTH_CHECK_EXPECTED_STATUS", Field: "spec.healthCheck.expectedStatus", Annotation: "health-check-expected-status"},
	}
}
