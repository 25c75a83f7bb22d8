package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EndpointPool is the nodes of one remote cluster that may back Services: where they
// come from, which addresses count, how they are checked, and which namespaces may use
// which ports of them. The platform writes it. Its name is a DNS label of at most 40
// characters without dots, because the names of slices contain it: web.blue.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=epool,categories=remote-endpoints
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Source,type=string,JSONPath=`.status.source`
// +kubebuilder:printcolumn:name=Nodes,type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name=Services,type=integer,JSONPath=`.status.services`
// +kubebuilder:printcolumn:name=Read,type=string,JSONPath=`.status.conditions[?(@.type=="SourceReady")].reason`
// +kubebuilder:printcolumn:name=Accepted,type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].reason`,priority=1
// +kubebuilder:printcolumn:name=Held,type=string,JSONPath=`.status.conditions[?(@.type=="Held")].reason`,priority=1
// +kubebuilder:printcolumn:name=Subnets,type=string,JSONPath=`.spec.subnets`,priority=1
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$')",message="metadata.name is not a DNS label of at most 40 characters; choose a shorter one without dots: the names of slices contain it"
type EndpointPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the platform wants.
	Spec EndpointPoolSpec `json:"spec"`
	// What the controller found. Files have no status.
	// +optional
	Status EndpointPoolStatus `json:"status,omitempty"`
}

// EndpointPoolList is a list of pools.
//
// +kubebuilder:object:root=true
type EndpointPoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EndpointPool `json:"items"`
}

// EndpointPoolSpec is what the platform wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.credentials) && self.credentials.size() > 0 || !has(self.source.kubernetes) && !has(self.source.ionos)",message="is required by the sources kubernetes and ionos; write the name of the folder below CREDENTIALS_DIR that holds the kubeconfig or the token",fieldPath=".credentials",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="has(self.source.kubernetes) || has(self.source.ionos) || !has(self.allow) || self.allow.all(a, !has(a.remoteNamespaces) || a.remoteNamespaces.size() == 0)",message="has remoteNamespaces, and the source has no kubeconfig by which a remote Service could be followed; remove them, or use the source kubernetes or ionos",fieldPath=".allow"
type EndpointPoolSpec struct {
	// Where the nodes come from. Exactly one of its fields is set.
	Source PoolSource `json:"source"`
	// Name of the folder with the credentials, below CREDENTIALS_DIR. Needed by the
	// sources kubernetes and ionos.
	//
	// The folder holds kubeconfig, token, or username and password; ca.crt for the
	// certificates of endpoints that are checked by HTTPS. The name is a DNS label, never
	// a path.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +format=dns-label
	Credentials string `json:"credentials,omitempty"`
	// Address ranges of the nodes. No address outside is ever published or checked.
	//
	// A range has no bits set after its prefix, has a prefix of at least /8 (IPv6: /32),
	// and contains no loopback, link-local, multicast or cloud metadata address.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +format=subnet
	Subnets []string `json:"subnets"`
	// Time between two reads of the source, varied by 10 % at random.
	// +optional
	// +kubebuilder:default="30s"
	// +limits=100ms to 24h
	PollInterval *metav1.Duration `json:"pollInterval,omitempty"`
	// Which namespaces may use which ports. Without an entry no namespace may use the
	// pool.
	//
	// An entry adds to the others and never takes away from them.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Allow []PoolAllowance `json:"allow,omitempty"`
	// How endpoints are checked, unless a binding has a check of its own.
	// +optional
	HealthCheck PoolHealthCheck `json:"healthCheck,omitempty"`
	// How much an inventory, or a controller that is cut off, may take away.
	// +optional
	Guard PoolGuard `json:"guard,omitempty"`
	// How long the endpoints of a Service that vanished stay checked and published. Then
	// its slices are emptied.
	// +optional
	// +kubebuilder:default="10m"
	// +limits=0s to 24h
	ReleaseAfter *metav1.Duration `json:"releaseAfter,omitempty"`
}

// PoolSource says where the nodes come from. Exactly one field is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.kubernetes), has(self.ionos), has(self.static)].exists_one(set, set)",message="has none of kubernetes, ionos and static, or several; keep exactly one of them, and make a pool of its own of each other one"
type PoolSource struct {
	// The nodes of the cluster of the kubeconfig in the credentials.
	// +optional
	Kubernetes *KubernetesSource `json:"kubernetes,omitempty"`
	// The servers of an IONOS Cloud data centre, with the token in the credentials.
	// +optional
	IONOS *IONOSSource `json:"ionos,omitempty"`
	// A fixed list.
	// +optional
	Static *StaticSource `json:"static,omitempty"`
	// A JSON inventory. In mounted documents only: the kind in the API server has no
	// such field.
	// +optional
	// +filesOnly
	File *FileSource `json:"file,omitempty"`
	// A program that prints the JSON inventory. In mounted documents only: the kind in
	// the API server has no such field.
	// +optional
	// +filesOnly
	Command *CommandSource `json:"command,omitempty"`
}

// KubernetesSource is the nodes of a cluster.
type KubernetesSource struct {
	// Label selector of the nodes to publish. Without one: all but control planes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +format=selector
	NodeSelector string `json:"nodeSelector,omitempty"`
}

// IONOSSource is the servers of a data centre.
type IONOSSource struct {
	// UUID of the virtual data centre that holds the nodes.
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="is empty; copy the UUID from the IONOS console"
	// +format=uuid
	DatacenterID string `json:"datacenterID"`
	// Number of the private LAN whose addresses are published.
	// +kubebuilder:validation:Minimum=1
	LANID int32 `json:"lanID"`
	// UUID of the managed Kubernetes cluster whose nodes are read. Needed unless the
	// credentials contain a kubeconfig, whose cluster then lists the nodes.
	// +optional
	// +format=uuid
	ClusterID string `json:"clusterID,omitempty"`
	// Label selector of the nodes. Default: all but control planes. Without a kubeconfig:
	// only labels of the IONOS API.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +format=selector
	NodeSelector string `json:"nodeSelector,omitempty"`
}

// StaticSource is a fixed list of nodes, all ready workers.
type StaticSource struct {
	// The nodes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +listType=map
	// +listMapKey=name
	Nodes []StaticNode `json:"nodes"`
}

// StaticNode is one node of a fixed list.
type StaticNode struct {
	// Name of the node, different from all others of the list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +format=node-name
	Name string `json:"name"`
	// Addresses of the node: one of each family is published.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +format=address
	Addresses []string `json:"addresses"`
	// Zone of the node, which the slices tell.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`
}

// FileSource is a JSON inventory that something else keeps up to date.
type FileSource struct {
	// Path of the file, opened for each read.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path"`
}

// CommandSource is a program that prints the JSON inventory. It runs once for each
// read, without a shell.
type CommandSource struct {
	// The program, by path or by name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path"`
	// Its arguments, one entry each. No place for secrets: other users of the machine
	// see arguments.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Args []string `json:"args,omitempty"`
}
