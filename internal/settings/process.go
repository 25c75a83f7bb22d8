package settings

import "net/netip"

// Store says where the slices are written.
type Store struct {
	Kind StoreKind `envconfig:"STORE_KIND" default:"memory" oneof:"memory,kubectl,client-go" desc:"where the slices go. client-go: the API server; memory: printed, not written; kubectl: not recommended"`
	// Kubeconfig is empty for the ServiceAccount of the Pod we run in.
	Kubeconfig string `envconfig:"KUBECONFIG" fallback:"in-cluster" desc:"kubeconfig of the local cluster"`
	// KubectlPath is a path, or a name to be found in PATH.
	KubectlPath string `envconfig:"KUBECTL_PATH" default:"kubectl" desc:"the kubectl to run, by path or by name; for STORE_KIND=kubectl"`
	// Environment is what kubectl gets: everything but what concerns the
	// remote cluster. Load fills it in.
	Environment Environment
}

// Leader is the leader election.
type Leader struct {
	Election bool `envconfig:"LEADER_ELECTION" default:"false" desc:"take part in a leader election; needs STORE_KIND=client-go or STORE_KIND=kubectl. A dry run takes no part"`
	// Namespace defaults to that of the target, because the rights are there.
	// Load fills in the default.
	Namespace string `envconfig:"LEADER_ELECTION_NAMESPACE" format:"dns-label" fallback:"target namespace" desc:"namespace of the lease"`
	Name      string `envconfig:"LEADER_ELECTION_NAME" default:"ionos-endpointslice-controller" format:"dns-subdomain" desc:"name of the lease"`
	NodeName  string `envconfig:"NODE_NAME" desc:"name of the node that this replica runs on; status says where all replicas are on one"`
}

// Listen is where we are listening, by default on this machine only.
type Listen struct {
	Admin   netip.AddrPort `envconfig:"ADMIN_ADDRESS" default:"127.0.0.1:8080" desc:"IP address and port of the status page, its JSON and /configz; port 0 takes any free one"`
	Metrics netip.AddrPort `envconfig:"METRICS_ADDRESS" default:"127.0.0.1:8081" desc:"IP address and port of /livez, /readyz and /metrics; port 0 takes any free one"`
}

// Log is what is logged, and how.
type Log struct {
	Level  LogLevel  `envconfig:"LOG_LEVEL" default:"info" oneof:"debug,info,warn,error" desc:"least level that is logged"`
	Format LogFormat `envconfig:"LOG_FORMAT" default:"auto" oneof:"auto,text,json" desc:"form of the lines; auto is text on a terminal and JSON elsewhere"`
}

// Run is what the program may do.
type Run struct {
	DryRun bool `envconfig:"DRY_RUN" default:"false" desc:"decide and report, write nothing"`
}
