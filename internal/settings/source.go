package settings

import "time"

// Source says where the nodes come from and how often they are read.
type Source struct {
	// Kind chooses the source; each kind has variables of its own.
	Kind SourceKind `envconfig:"SOURCE_KIND" default:"static" oneof:"static,file,command,ionos,kubernetes" desc:"where the nodes come from"`
	// PollInterval counts from the end of one read to the start of the next,
	// so that reads never overlap. The lower limit keeps a typing error from
	// becoming a flood; the upper one keeps a removed node from staying for
	// days.
	PollInterval time.Duration `envconfig:"SOURCE_POLL_INTERVAL" default:"30s" min:"100ms" max:"24h" desc:"time between two reads, from the end of one to the start of the next, varied by 10 % at random"`
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
	Path string `envconfig:"INVENTORY_FILE_PATH" source:"file" example:"/etc/inventory/inventory.json" desc:"file with the JSON inventory, opened anew at each read; needed with SOURCE_KIND=file"`
}

// Command is the source "command".
type Command struct {
	// Path is a path, or a name to be found in PATH.
	Path string `envconfig:"INVENTORY_COMMAND" source:"command" format:"program" example:"/etc/inventory/list.py" desc:"program that prints the JSON inventory, by path or by name; needed with SOURCE_KIND=command"`
	// Args are split by the function of that name.
	Args string `envconfig:"INVENTORY_COMMAND_ARGS" format:"arguments" example:"--pool 'web workers'" desc:"its arguments, split at spaces as a shell does; what a shell would replace or carry out ($HOME, backquotes, pipes) is refused, while *, ? and ~ are passed on as they stand. No place for secrets: other users of the machine see arguments, and messages repeat them"`
	// Env are names beyond those that every inventory command gets.
	Env []string `envconfig:"INVENTORY_COMMAND_ENV" format:"variable" example:"AWS_PROFILE,LANG" desc:"names of further variables that the program is given, separated by commas. It always gets PATH, HOME, KUBECONFIG, IONOS_*, SECURED_* and the proxy variables, and nothing else"`
	// Environment is what the program gets: the variables named above, as far
	// as they are set. Load fills it in.
	Environment Environment
}

// Secured is the remote cluster.
type Secured struct {
	// Subnets is the allow-list of addresses. Slices can point a
	// load balancer anywhere (CVE-2021-25740), so there is no default.
	Subnets []string `envconfig:"SECURED_SUBNET_CIDR" format:"subnet" required:"true" example:"10.0.0.0/24" desc:"address ranges separated by commas, without bits set after the prefix; only addresses inside are ever published or checked"`
	// Kubeconfig is read by the sources that ask the remote API server.
	Kubeconfig string `envconfig:"SECURED_KUBECONFIG" source:"kubernetes" example:"/etc/remote/kubeconfig" desc:"kubeconfig of the remote cluster, read again when it or a file that it names changes; needed with SOURCE_KIND=kubernetes"`
	// Context is empty for the kubeconfig's current one.
	Context string `envconfig:"SECURED_KUBECTL_CONTEXT" fallback:"current context" desc:"context in that kubeconfig"`
	// NodeSelector is empty for "every node that is no control plane".
	NodeSelector string `envconfig:"SECURED_NODE_SELECTOR" format:"selector" fallback:"workers only" example:"pool=web" desc:"label selector of the remote nodes to publish"`
	// RemoteService is empty where every node forwards to the Pods.
	RemoteService string `envconfig:"REMOTE_SERVICE" format:"remote-service" example:"shop/web" desc:"Service of the remote cluster, as namespace/name, whose Pods say where endpoints are: only nodes with a ready Pod of it are published. For externalTrafficPolicy Local and hostPort; needs SECURED_KUBECONFIG"`
}

// IONOS is the access to the IONOS Cloud API.
type IONOS struct {
	Token    Secret `envconfig:"IONOS_TOKEN" desc:"token of the API; this, or a user name and a password, is needed with SOURCE_KIND=ionos"`
	Username string `envconfig:"IONOS_USERNAME" desc:"user name, when there is no token"`
	Password Secret `envconfig:"IONOS_PASSWORD" desc:"password of that user"`
	// APIURL is empty for the public API.
	APIURL string `envconfig:"IONOS_API_URL" format:"api-url" fallback:"public API" example:"https://api.ionos.com" desc:"address of the API, without credentials"`
	// DatacenterID and ClusterID become parts of a URL's path.
	DatacenterID string `envconfig:"IONOS_DATACENTER_ID" source:"ionos" format:"uuid" example:"0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e" desc:"UUID of the virtual data centre that holds the nodes; needed with SOURCE_KIND=ionos"`
	// PrivateLANID is 0 when unset. The API spells LAN ids as text in one
	// place and as a number in another; they are compared as numbers.
	PrivateLANID int    `envconfig:"IONOS_PRIVATE_LAN_ID" source:"ionos" min:"1" max:"2147483647" example:"2" desc:"number of the private LAN whose addresses are published; needed with SOURCE_KIND=ionos"`
	ClusterID    string `envconfig:"IONOS_CLUSTER_ID" format:"uuid" desc:"UUID of the managed Kubernetes cluster whose nodes are read; needed with SOURCE_KIND=ionos unless SECURED_KUBECONFIG is set, whose cluster then lists the nodes"`
}
