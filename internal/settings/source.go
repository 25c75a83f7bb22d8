package settings

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// Source says where the nodes come from and how often they are read.
type Source struct {
	// Kind chooses the source; each kind has variables of its own.
	Kind SourceKind `envconfig:"SOURCE_KIND" default:"static" oneof:"static,file,command,ionos,kubernetes" desc:"where the nodes come from"`
	// PollInterval counts from the end of one read to the start of the next,
	// so that reads never overlap. The lower limit keeps a typing error from
	// becoming a flood; the upper one keeps a removed node from staying for
	// days.
	PollInterval time.Duration `envconfig:"SOURCE_POLL_INTERVAL" default:"30s" min:"100ms" max:"24h" desc:"time between the end of a read and the next, varied by 10 % at random"`
	// Timeout bounds one read, whatever the source does in it (contract 3).
	Timeout time.Duration `envconfig:"SOURCE_TIMEOUT" default:"20s" min:"100ms" max:"1h" desc:"timeout of one read; a command and its child processes are killed then"`
}

// Static is the source "static".
type Static struct {
	// Nodes are taken as ready workers.
	Nodes []string `envconfig:"STATIC_NODES" source:"static" format:"node" example:"worker-1=10.0.0.11,worker-2=10.0.0.12" desc:"the nodes, as name=address separated by commas; needed with SOURCE_KIND=static"`
}

// File is the source "file".
type File struct {
	// Path is not opened at the start: a missing file is a failed read, which
	// changes no endpoint (contract 1), not a wrong configuration.
	Path string `envconfig:"INVENTORY_FILE_PATH" source:"file" example:"/etc/inventory/inventory.json" desc:"file with the JSON inventory, opened for each read; needed with SOURCE_KIND=file"`
}

// Command is the source "command".
type Command struct {
	// Path is a path, or a name to be found in PATH.
	Path string `envconfig:"INVENTORY_COMMAND" source:"command" format:"program" example:"/etc/inventory/list.py" desc:"program that prints the JSON inventory, by path or by name; needed with SOURCE_KIND=command"`
	// Args are split by the function of that name.
	Args string `envconfig:"INVENTORY_COMMAND_ARGS" format:"arguments" example:"--pool 'web workers'" desc:"its arguments, split at spaces, with quotes as in a shell. No secrets: messages repeat them"`
	// Env are names beyond those that every inventory command gets.
	Env []string `envconfig:"INVENTORY_COMMAND_ENV" format:"variable" example:"AWS_PROFILE,LANG" desc:"names of further variables that the program gets, separated by commas"`
	// Environment is what the program gets: the variables named above, as far
	// as they are set. Load fills it in.
	Environment Environment
}

// SecuredCluster is the remote cluster.
type SecuredCluster struct {
	// Subnets is the allow-list of addresses. Slices can point a
	// load balancer anywhere (CVE-2021-25740), so there is no default.
	Subnets []string `envconfig:"SECURED_SUBNET_CIDR" format:"subnet" required:"true" example:"10.0.0.0/24" desc:"address ranges separated by commas; no address outside is published or checked"`
	// Kubeconfig is read by the sources that ask the remote API server.
	Kubeconfig string `envconfig:"SECURED_KUBECONFIG" source:"kubernetes" example:"/etc/remote/kubeconfig" desc:"kubeconfig of the remote cluster, read again on change; needed with SOURCE_KIND=kubernetes"`
	// Context is empty for the kubeconfig's current one.
	Context string `envconfig:"SECURED_KUBECTL_CONTEXT" fallback:"current context" desc:"context in that kubeconfig"`
	// NodeSelector is empty for "every node that is no control plane".
	NodeSelector string `envconfig:"SECURED_NODE_SELECTOR" format:"selector" fallback:"workers only" example:"pool=web" desc:"label selector of the remote nodes to publish"`
	// RemoteService is empty where every node forwards to the Pods.
	RemoteService string `envconfig:"REMOTE_SERVICE" format:"remote-service" example:"shop/web" desc:"Service of the remote cluster, as namespace/name: only nodes with a ready Pod of it are published; needs SECURED_KUBECONFIG"`
}

// IONOS is the access to the IONOS Cloud API.
type IONOS struct {
	Token    Secret `envconfig:"IONOS_TOKEN" desc:"token of the API; this or a password is needed with SOURCE_KIND=ionos"`
	Username string `envconfig:"IONOS_USERNAME" desc:"user name, when there is no token"`
	Password Secret `envconfig:"IONOS_PASSWORD" desc:"password of that user"`
	// APIURL is empty for the public API.
	APIURL string `envconfig:"IONOS_API_URL" format:"api-url" fallback:"public API" example:"https://api.ionos.com" desc:"address of the API, without credentials"`
	// DatacenterID and ClusterID become parts of a URL's path.
	DatacenterID string `envconfig:"IONOS_DATACENTER_ID" source:"ionos" format:"uuid" example:"0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e" desc:"UUID of the virtual data centre that holds the nodes; needed with SOURCE_KIND=ionos"`
	// PrivateLANID is 0 when unset. The API spells LAN ids as text in one
	// place and as a number in another; they are compared as numbers.
	PrivateLANID int    `envconfig:"IONOS_PRIVATE_LAN_ID" source:"ionos" min:"1" max:"2147483647" example:"2" desc:"number of the private LAN whose addresses are published; needed with SOURCE_KIND=ionos"`
	ClusterID    string `envconfig:"IONOS_CLUSTER_ID" format:"uuid" desc:"UUID of the managed Kubernetes cluster whose nodes are read; needed with SOURCE_KIND=ionos and no SECURED_KUBECONFIG"`
}

// Health is how an endpoint is checked.
type Health struct {
	Mode HealthMode `envconfig:"HEALTH_CHECK_MODE" default:"tcp" oneof:"off,tcp,http,https" desc:"how an endpoint is checked. tcp: connect; http, https: GET; off: every endpoint passes"`
	// Path is a request's target: path and query.
	Path string `envconfig:"HEALTH_CHECK_PATH" mode:"http" default:"/" format:"url-path" desc:"path, and query if need be, of the request; for http and https"`
	// Host is empty for the member's own address. It never decides where to
	// connect to (contract 11).
	Host string `envconfig:"HEALTH_CHECK_HOST" mode:"http" format:"host" fallback:"address of the endpoint" example:"web.example.com" desc:"Host header of the request, without a port; for http and https"`
	// Port is 0 for the only TCP port of the target.
	Port int `envconfig:"HEALTH_CHECK_PORT" min:"1" max:"65535" fallback:"target port" example:"8080" desc:"TCP port to check; needed when the target has several TCP ports or none"`
	// ExpectedStatus has the kubelet's default.
	ExpectedStatus []string `envconfig:"HEALTH_CHECK_EXPECTED_STATUS" mode:"http" format:"status" default:"200-399" example:"200-399,404" desc:"HTTP statuses that pass, as numbers from 100 to 599 and ranges, separated by commas; for http and https"`
	// Interval has a lower limit so that checks in question (a tenth of it, at
	// least 100 ms) are never slower than the others.
	Interval time.Duration `envconfig:"HEALTH_CHECK_INTERVAL" default:"2s" min:"100ms" max:"1h" desc:"time from one round of checks to the next. Default: 2s, or HEALTH_CHECK_TIMEOUT if that is longer"`
	// Timeout may not exceed Interval: rounds never overlap (contract 12), so one
	// silent endpoint would make every round late. AWS and GCP have the same rule.
	Timeout time.Duration `envconfig:"HEALTH_CHECK_TIMEOUT" default:"1s" min:"10ms" max:"1h" desc:"timeout of one check, at most HEALTH_CHECK_INTERVAL. Default: 1s, or the interval if that is shorter"`
	// Rise and Fall count results in a row; one opposite result starts anew
	// (contract 10).
	Rise int `envconfig:"HEALTH_CHECK_RISE" default:"2" min:"1" max:"1000" desc:"passes in a row after which an endpoint that is down is ready again"`
	Fall int `envconfig:"HEALTH_CHECK_FALL" default:"3" min:"1" max:"1000" desc:"failures in a row after which an endpoint is down"`
	// Concurrency bounds sockets and goroutines (contract 33).
	Concurrency int `envconfig:"HEALTH_CHECK_CONCURRENCY" default:"256" min:"1" max:"65535" desc:"checks in flight at once; at most a quarter of the file descriptors of the process"`

	// HoldConnection is off by default: a server that handles one connection at a
	// time would hang for its clients while ours is idle in it.
	HoldConnection bool `envconfig:"HEALTH_CHECK_HOLD_CONNECTION" default:"false" desc:"hold one idle connection per endpoint; its loss starts a check. Wrong for servers that handle one connection at a time"`

	TLSCAFile     string `envconfig:"HEALTH_CHECK_TLS_CA_FILE" mode:"https" fallback:"system's roots" example:"/etc/endpoints/ca.crt" desc:"PEM file with the authorities that sign the certificates of the endpoints; for https"`
	TLSServerName string `envconfig:"HEALTH_CHECK_TLS_SERVER_NAME" mode:"https" format:"host" fallback:"HEALTH_CHECK_HOST, else the address" example:"web.example.com" desc:"name that the certificate must be for; for https"`
	// TLSInsecure is for certificates that cannot be verified.
	TLSInsecure bool `envconfig:"HEALTH_CHECK_TLS_INSECURE" mode:"https" default:"false" desc:"accept any certificate; for https. The check then proves that something answers, not what"`
}

// RootCAs reads the authorities of HEALTH_CHECK_TLS_CA_FILE. It returns nil,
// which stands for the system's own, where no file is named.
func (h Health) RootCAs() (*x509.CertPool, error) {
	if h.TLSCAFile == "" {
		return nil, nil
	}
	content, err := system.ReadFile(h.TLSCAFile, maxCAFile)
	if err != nil {
		return nil, fmt.Errorf("read authorities of the health check: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("read authorities of the health check: %s: %w", h.TLSCAFile, errors.New("holds no certificate in PEM form"))
	}
	return pool, nil
}

// Guard is how much an inventory, or a prober that is cut off, may take away.
type Guard struct {
	// EmptyResultThreshold is 0 for "never" (contract 13).
	EmptyResultThreshold int `envconfig:"EMPTY_RESULT_THRESHOLD" default:"10" min:"0" max:"1000000" desc:"rejected inventories in a row after which endpoints that they leave out may go; 0 is never"`
	// MaxRemovalPercent never forbids the removal of a single endpoint.
	MaxRemovalPercent int `envconfig:"MAX_REMOVAL_PERCENT" default:"50" min:"0" max:"100" desc:"percentage of the endpoints that one inventory may remove, and at least one; more rejects it"`
	// DrainPeriod is 0 for no draining at all.
	DrainPeriod time.Duration `envconfig:"DRAIN_PERIOD" default:"30s" min:"0s" max:"24h" desc:"how long a leaving endpoint that passes stays draining, at least until another endpoint passes"`
	// MaxSilentPercent is contract 14, FailOpen contract 15.
	MaxSilentPercent int  `envconfig:"HEALTH_CHECK_MAX_SILENT_PERCENT" default:"50" min:"0" max:"100" desc:"percentage of the endpoints that may be silent at once; with more, silence takes no endpoint down"`
	FailOpen         bool `envconfig:"HEALTH_CHECK_FAIL_OPEN" default:"true" desc:"publish all endpoints that stay as ready when none passes its health check; false publishes them as down"`
}

// Target is the Service of the local cluster and how to fill it.
type Target struct {
	Namespace string `envconfig:"TARGET_NAMESPACE" default:"default" format:"dns-label" desc:"namespace of the Service and its slices"`
	// ServiceName is also the value of a label, so 63 characters are the limit.
	ServiceName string `envconfig:"TARGET_SERVICE_NAME" required:"true" format:"dns-label" example:"web" desc:"the selector-less Service, at most 63 characters"`
	// SliceName leaves room for the suffix of further slices. Load fills in the
	// default.
	SliceName string `envconfig:"TARGET_ENDPOINTSLICE_NAME" format:"dns-subdomain" fallback:"<service>-remote" desc:"name of the first slice, at most 243 characters; the next is <name>-2, for IPv6 <name>-ipv6"`
	// ManagedBy decides which slices are ours to touch (contract 23).
	ManagedBy string `envconfig:"TARGET_MANAGED_BY" default:"ionos-endpointslice-controller" format:"label-value" desc:"value of the label endpointslice.kubernetes.io/managed-by; slices with another value are never touched. Not one of Kubernetes' own controllers"`
	// Port is 0 when Ports are given. Exactly one of the two is.
	Port int `envconfig:"TARGET_PORT" min:"1" max:"65535" example:"8080" desc:"TCP port of the endpoints, named as in the Service; this or TARGET_PORTS is needed"`
	// Ports are empty when Port is given.
	Ports []string `envconfig:"TARGET_PORTS" format:"port" example:"http=8080,dns=53/UDP" desc:"several ports, as name=port[/protocol] separated by commas; protocols are TCP, UDP and SCTP"`
	// MaxEndpointsPerSlice has the upper limit of the EndpointSlice API; its
	// default is that of Kubernetes' own controller.
	MaxEndpointsPerSlice int `envconfig:"MAX_ENDPOINTS_PER_SLICE" default:"100" min:"1" max:"1000" desc:"endpoints in one slice"`
}

// Documents are the folders of pools and bindings, which take the place of the one pool
// and the one target of variables.
type Documents struct {
	// Dir is empty for an installation by variables. What is in it is for others to read:
	// documents that are wrong end no program.
	Dir string `envconfig:"DOCUMENTS_DIR" example:"/etc/endpoints/documents" desc:"folder with the documents, read again when they change"`
	// CredentialsDir has one folder for each name that pools give.
	CredentialsDir string `envconfig:"CREDENTIALS_DIR" example:"/etc/endpoints/credentials" desc:"folder with one folder for each name in spec.credentials; needs documents"`
	// API reads what the API server has beside what is in Dir.
	API bool `envconfig:"DOCUMENTS_API" default:"false" desc:"read the documents from the API server too, and write their status there; needs the CustomResourceDefinitions"`
	// BoundSubnets, BoundNamespaces and BoundPorts are what pools in the API server may
	// not go beyond.
	BoundSubnets    []string `envconfig:"BOUNDS_SUBNETS" everything:"0.0.0.0/0,::/0" format:"subnet" example:"10.0.0.0/16" desc:"address ranges that contain all subnets of pools in the API server; needed with DOCUMENTS_API=true"`
	BoundNamespaces []string `envconfig:"BOUNDS_NAMESPACES" everything:"*" format:"namespace" example:"shop,blog" desc:"namespaces that objects may fill; * is every namespace; needed with DOCUMENTS_API=true"`
	BoundPorts      []string `envconfig:"BOUNDS_PORTS" everything:"1-65535" format:"port-range" example:"30080,31000-31999" desc:"ports that pools in the API server may allow, as numbers and ranges; needed with DOCUMENTS_API=true"`
	// Leaving are watched, though no document names them.
	Leaving []string `envconfig:"BOUNDS_LEAVING" format:"dns-label" example:"pay" desc:"namespaces that no document names any more, whose slices are emptied; needs documents"`
}

// Used reports whether documents take the place of variables.
func (d Documents) Used() bool { return d.Dir != "" || d.API }

// checkDocuments demands that a setting has one place: a variable of a pool or a target
// beside documents would have no effect. One that has its default is tolerated, because a
// manifest may well spell out every default.
func (l *loader) checkDocuments() {
	l.checkBounds()
	if !l.byDocuments() {
		for _, name := range []string{"CREDENTIALS_DIR", "BOUNDS_LEAVING"} {
			l.refuse(l.set(name), name, "has no effect without DOCUMENTS_DIR or DOCUMENTS_API=true", "set one of them, or remove it")
		}
		return
	}
	carrier := "DOCUMENTS_DIR"
	if !l.set(carrier) {
		carrier = "DOCUMENTS_API=true"
	}
	for _, v := range l.variables {
		field := naming.Field(v.name)
		if field == "" {
			continue
		}
		for _, name := range []string{v.name, v.name + fileSuffix} {
			l.refuse(l.set(name) && (!l.sound(name) || render(v) != v.tags.Get("default")), name,
				"and "+carrier+" are both set", "remove one of them: with "+carrier+" this is "+field+" of a document")
		}
	}
	l.refuse(l.config.Documents.API && l.sound("DOCUMENTS_API", "STORE_KIND") && l.config.Store.Kind == StoreKubectl, "DOCUMENTS_API",
		"contradicts STORE_KIND=kubectl, which fills one Service and watches nothing", "set STORE_KIND=client-go, or put the documents into DOCUMENTS_DIR")
	l.refuse(l.config.Leader.Election && !l.set("LEADER_ELECTION_NAMESPACE"), "LEADER_ELECTION_NAMESPACE",
		"is required with LEADER_ELECTION=true and "+carrier+", and not set", "set it to the namespace of this installation")
}

// checkBounds demands bounds where the API server carries documents: whoever may write
// them there may otherwise have everything published that a pool can name.
func (l *loader) checkBounds() {
	api := l.config.Documents.API
	for _, v := range l.variables {
		all := v.tags.Get("everything")
		switch {
		case all == "" || !l.sound("DOCUMENTS_API", v.name):
		case api && !l.set(v.name):
			l.mistake(v.name, "is required with DOCUMENTS_API=true, and not set", "set it to what pools in the API server may have at most; "+all+" is everything")
		case !api && l.set(v.name):
			l.mistake(v.name, "has no effect without DOCUMENTS_API=true", "set DOCUMENTS_API=true, or remove it")
		}
	}
}

// byDocuments reports whether documents take the place of variables. It is asked before
// all variables are read.
func (l *loader) byDocuments() bool {
	api, err := strconv.ParseBool(l.env["DOCUMENTS_API"])
	return l.set("DOCUMENTS_DIR") || err == nil && api
}
