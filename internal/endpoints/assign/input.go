package assign

import (
	"cmp"
	"iter"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Input is everything that decides who may use what.
type Input struct {
	// Now carries a monotonic reading.
	Now time.Time
	// Complete says that documents, Services and, where a pool selects them by labels,
	// namespaces were read, and that none of these lists is refused or its kind missing.
	// Otherwise no target vanishes.
	Complete bool
	// Variables says that Pools and Bindings are those of the environment; see
	// documents.Set.
	Variables bool
	// Unread are namespaces whose Services are not known, or may have changed since.
	// Nothing vanishes there; the others go on.
	Unread map[string]bool
	// Pools and Bindings are the last good versions, with defaults and without
	// duplicates.
	Pools    []v1alpha1.EndpointPool
	Bindings []v1alpha1.EndpointBinding
	// Broken are bindings that exist and cannot be used: what their Services have stays.
	Broken []Broken
	// OnlyChecked are pools that exist and cannot be used, without a source: they grant
	// nothing, and what their slices publish is still checked.
	OnlyChecked []v1alpha1.EndpointPool
	Services    []Service
	// Namespaces are the labels of namespaces, for pools that select them by labels.
	Namespaces map[string]map[string]string
	// Published are our slices, also those without the label of a pool.
	Published []PublishedSlice
	// Nodes is how many endpoints each pool has. A pool that was not read yet has none.
	Nodes map[string]int
	// Placed returns how many of them have a Pod of the remote Service that a group follows,
	// and false where that is not known or the Service forwards from every node: then all count.
	// Where it is nil, nothing is known.
	Placed func(Group) (int, bool)
	// Health returns what the checks of a group say, and false for one that has decided
	// nothing.
	Health func(Group) (Health, bool)
	// Stored returns what the slices of a Service that have this first name publish as
	// ready, as far as its clients can use it, and false where they were not read.
	Stored func(key Key, slice string) (iter.Seq[netip.Addr], bool)
}

// checks is how many checks a group makes, as far as is known.
func (in *Input) checks(g Group) int {
	nodes := in.Nodes[g.Pool]
	if g.Remote == (inventory.RemoteService{}) || in.Placed == nil {
		return nodes
	}
	if placed, known := in.Placed(g); known {
		return min(placed, nodes)
	}
	return nodes
}

// complete reports whether what is missing in a namespace is gone.
func (in *Input) complete(namespace string) bool { return in.Complete && !in.Unread[namespace] }

// Local is what the watches of the local cluster say.
type Local struct {
	// Services are all of the watched namespaces, and Published the slices with our
	// managed-by value: what targets have, and what one that vanished has left. Both are
	// sorted by namespace and name.
	Services  []Service
	Published []PublishedSlice
	// Sights say of each pair of watches what its part is worth.
	Sights []Sight
}

// Sight is what a pair of watches is worth.
type Sight struct {
	// Namespace is the one that is watched, empty for the whole cluster.
	Namespace string
	// Complete says that both watches have told a complete list. Before, nothing that
	// is missing in a Local says anything.
	Complete bool
	// Err is why what is known may be out of date, or why there is no complete list;
	// nil where there is no reason.
	Err error
	// Crowded says that the sight is of one namespace of those that are watched, whose
	// Services say more than is kept: some of them are missing in the Local.
	Crowded bool
}

// Service is one Service of the local cluster.
type Service struct {
	Key
	Annotations map[string]string
	publish.Service
}

// Broken is a binding without a good version.
type Broken struct {
	Key
	// HealthCheck is its check, nil where it has none or that has a mistake.
	HealthCheck *v1alpha1.BindingHealthCheck
	Mistakes    string
}

// PublishedSlice is what one slice of ours shows.
type PublishedSlice struct {
	Key
	// Pool is empty without the label of a pool.
	Pool string
	// Slice is the name of the slice.
	Slice string
	Ports []publish.Port
	// Endpoints is how many it holds, and IPv6 how many of those are of that family.
	Endpoints, IPv6 int
	// Changed is when the slice was last changed, zero where it does not say so.
	Changed time.Time
	// Addresses returns those of its endpoints. It is asked where no pool of its label is known.
	Addresses func() []netip.Addr
}

// Key names a target: the Service and its namespace.
type Key struct{ Namespace, Service string }

// String returns the key as namespace/service.
func (k Key) String() string { return k.Namespace + "/" + k.Service }

// Compare orders keys by namespace, then by Service.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Service, other.Service))
}

// Check is how an endpoint is checked. Port is 0 with the mode None.
type Check struct {
	Mode                       v1alpha1.HealthCheckMode
	Port                       uint16
	Path, Host, ExpectedStatus string
}

// Group is a pool whose endpoints are checked in one way, on the nodes that have a Pod of one
// remote Service. All targets of a group share its checks and its verdict.
type Group struct {
	Pool  string
	Check Check
	// Remote is that Service; zero where the group follows none, and all nodes count.
	Remote inventory.RemoteService
}

// Use is what a target takes from one pool.
type Use struct {
	Group
	// Ports are those of the endpoints. With PortFromService there is one, whose name
	// is taken from the Service.
	Ports           []publish.Port
	PortFromService bool
	// PoolCheck says that the check is, or was, the one that the pool does for all its
	// targets.
	PoolCheck bool
	// By is what asked for the use: a binding, or a Service by its annotations; it is empty
	// where only slices tell of the use. CheckBy is what says the check: that, or the pool.
	By, CheckBy naming.Kind
	// Adopt is the name of a slice that exists already and is taken over, or empty.
	Adopt string
}

// Names is how messages about the use name settings.
func (u Use) Names(key Key) naming.Names {
	if u.By == naming.Environment {
		return naming.Names{}
	}
	n := naming.Names{Spelling: naming.Annotations, Pool: u.Pool, Target: key.String(), CheckBy: u.CheckBy}
	if u.By == naming.Binding {
		n.Spelling = naming.Fields
	}
	return n
}

// Label is what the label of a pool says on the slices of the use; empty for none.
func (u Use) Label() string {
	if u.By == naming.Environment {
		return ""
	}
	return u.Pool
}

// Target is what the use gives a Service; whoever writes the slices knows the rest.
func (u Use) Target(key Key) publish.Target {
	return publish.Target{
		Namespace: key.Namespace, Service: key.Service, SliceName: u.SliceName(key), Pool: u.Label(),
		Ports: u.Ports, PortFromService: u.PortFromService, Names: u.Names(key),
	}
}

// owns reports whether a slice has a name of the use.
func (u Use) owns(key Key, slice string) bool {
	_, _, its := publish.Target{Service: key.Service, Pool: u.Label(), SliceName: u.SliceName(key)}.ParseName(slice)
	return its
}

// SliceName is the name of the first slice: the Service and the pool, which no other
// target can have, because the name of a Service has no dots.
func (u Use) SliceName(key Key) string {
	if u.Adopt != "" {
		return u.Adopt
	}
	return key.Service + "." + u.Pool
}
