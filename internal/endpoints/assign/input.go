package assign

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
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
	Broken []BrokenBinding
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
	// Drains reports whether they publish endpoints and have all of them as draining.
	Drains func(key Key, slice string) bool
}

// Checks is how many checks a group makes or would make, as far as is known.
func (in *Input) Checks(g Group) int {
	nodes := in.Nodes[g.Pool]
	if g.Check.Mode == v1alpha1.HealthCheckNone {
		return 0
	}
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
	// Namespace is the one that is watched.
	Namespace string
	// Complete says that both watches have told a complete list. Before, nothing that
	// is missing in a Local says anything.
	Complete bool
	// Err is why what is known may be out of date, or why there is no complete list;
	// nil where there is no reason.
	Err error
	// Crowded says that the Services or slices of the namespace say more than is kept:
	// some of them are missing in the Local.
	Crowded bool
}

// Service is one Service of the local cluster.
type Service struct {
	Key
	Annotations map[string]string
	publish.Service
}

// BrokenBinding is a binding without a good version.
type BrokenBinding struct {
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
func (u Use) SliceName(key Key) string { return cmp.Or(u.Adopt, key.Service+"."+u.Pool) }

// forbids returns the first port of a use that may not be used, and whether there is
// one. The check that the pool does for everybody needs no permission; another check of
// the same port does.
func forbids(allowed documents.Allowance, u Use) (uint16, bool) {
	for _, p := range u.Ports {
		if !allowed.Ports.Contains(int(p.Number)) {
			return p.Number, true
		}
	}
	port := u.Check.Port
	if port == 0 || u.PoolCheck || allowed.Ports.Contains(int(port)) {
		return 0, false
	}
	return port, true
}

// follows reports whether a remote Service may be followed.
func follows(allowed documents.Allowance, remote inventory.RemoteService) bool {
	return remote == (inventory.RemoteService{}) || slices.Contains(allowed.RemoteNamespaces, remote.Namespace)
}

// remoteOf is the remote Service that a request names for a pool; zero where it names none.
func (r request) remoteOf(pool string) (remote inventory.RemoteService) {
	for _, p := range r.spec.Pools {
		if p.Name == pool && p.RemoteService != nil {
			remote = inventory.RemoteService(*p.RemoteService)
		}
	}
	return remote
}

// fields are the fields of a binding by the annotations that stand for them.
var fields = map[string]string{
	v1alpha1.AnnotationHealthCheckMode:           "mode",
	v1alpha1.AnnotationHealthCheckPath:           "path",
	v1alpha1.AnnotationHealthCheckHost:           "host",
	v1alpha1.AnnotationHealthCheckPort:           "port",
	v1alpha1.AnnotationHealthCheckExpectedStatus: "expectedStatus",
}

// fromAnnotations makes the binding that the annotations of a Service stand for, by the
// same rules as for a binding in a file.
func fromAnnotations(s Service) request {
	check := map[string]any{}
	for annotation, field := range fields {
		text, set := s.Annotations[annotation]
		if !set {
			continue
		}
		check[field] = text
		if number, err := strconv.Atoi(text); err == nil && field == "port" {
			check[field] = number
		}
	}
	spec := map[string]any{"pools": []map[string]string{{"name": s.Annotations[v1alpha1.AnnotationPool]}}}
	if len(check) > 0 {
		spec["healthCheck"] = check
	}
	binding := map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.KindEndpointBinding,
		"metadata": map[string]string{"namespace": s.Namespace, "name": s.Key.Service}, "spec": spec,
	}
	data, err := json.Marshal(binding)
	if err != nil {
		return request{annotated: true, mistakes: fmt.Sprintf("the annotations of Service %s cannot be read: %v", s.Key, err)}
	}
	document := documents.Decode("annotations", data)[0]
	if document.Binding != nil {
		return request{annotated: true, spec: document.Binding.Spec}
	}
	return request{annotated: true, mistakes: mistakesOf(s.Key, document.Mistakes)}
}

// mistakesOf says what is wrong with annotations, all at once.
func mistakesOf(key Key, mistakes []documents.Mistake) string {
	var texts []string
	for _, m := range mistakes {
		name := annotationOf(m.Field)
		if m.Value != "" {
			name += "=" + settings.Quote(m.Value)
		}
		texts = append(texts, fmt.Sprintf("%s: %s; %s", name, m.Rule, m.Remedy))
	}
	return fmt.Sprintf("the annotations of Service %s have mistakes, so they have no effect: %s", key, strings.Join(texts, ". "))
}

// annotationOf names the annotation that stands for a field of a binding.
func annotationOf(field string) string {
	for annotation, name := range fields {
		if field == "spec.healthCheck."+name {
			return annotation
		}
	}
	if strings.HasPrefix(field, "spec.pools") {
		return v1alpha1.AnnotationPool
	}
	return field
}

// unknownAnnotations tells of annotations of our API group that have no effect. Those of
// other programs of this project are none of them.
func unknownAnnotations(s Service) []Notice {
	known := append(v1alpha1.BindingAnnotations(), v1alpha1.ViewAnnotations()...)
	var notices []Notice
	for _, name := range slices.Sorted(maps.Keys(s.Annotations)) {
		if !strings.HasPrefix(name, v1alpha1.GroupName+"/") || slices.Contains(known, name) {
			continue
		}
		remedy := "remove it; the annotations are " + settings.Listed(v1alpha1.BindingAnnotations(), "and")
		if near := settings.Nearest(name, known); near != "" {
			remedy = "did you mean " + near + "?"
		}
		notices = append(notices, Notice{Key: s.Key, Reason: UnknownAnnotation, Message: fmt.Sprintf("annotation %s of Service %s is not known and has no effect; %s", name, s.Key, remedy)})
	}
	return notices
}

// request is what a team wants for one Service.
type request struct {
	spec v1alpha1.EndpointBindingSpec
	// annotated says that annotations of the Service say it, and no binding.
	annotated bool
	// variables says that the environment says it.
	variables bool
	// mistakes say why the annotations of the Service, or its binding, say nothing; empty
	// otherwise.
	mistakes string
}

// by is the kind of what says it.
func (r request) by() naming.Kind {
	switch {
	case r.annotated:
		return naming.Service
	case r.variables:
		return naming.Environment
	}
	return naming.Binding
}

// checkBy is the kind of what says the check, where own is the request's.
func (r request) checkBy(own *v1alpha1.BindingHealthCheck) naming.Kind {
	if own == nil && !r.variables {
		return naming.Pool
	}
	return r.by()
}

// subject names the object and the field of it that say something.
func (r request) subject(key Key, field string) string {
	switch {
	case field == "spec.ports" && len(r.spec.Ports) == 0:
		return "Service " + key.String() + " spec.ports[].targetPort"
	case r.annotated:
		return "Service " + key.String() + " " + annotationOf(field)
	}
	return v1alpha1.KindEndpointBinding + " " + key.String() + " " + field
}

// requests collects bindings and annotated Services. Where a Service has both, the
// binding counts.
func requests(in Input, before map[Key]annotationRequest) (wanted map[Key]request, notices []Notice, read map[Key]annotationRequest) {
	wanted, read = make(map[Key]request, len(in.Bindings)), make(map[Key]annotationRequest, len(before))
	for _, b := range in.Bindings {
		wanted[Key{b.Namespace, b.Name}] = request{spec: b.Spec, variables: in.Variables}
	}
	for _, b := range in.Broken {
		wanted[b.Key] = request{spec: v1alpha1.EndpointBindingSpec{HealthCheck: b.HealthCheck}, mistakes: b.Mistakes}
	}
	for _, s := range in.Services {
		notices = append(notices, unknownAnnotations(s)...)
		if s.Annotations[v1alpha1.AnnotationPool] == "" {
			continue
		}
		if _, bound := wanted[s.Key]; bound {
			notices = append(notices, Notice{Key: s.Key, Reason: BindingWins, Message: fmt.Sprintf(
				"Service %s has the annotation %s and an EndpointBinding: the binding counts; remove one of them", s.Key, v1alpha1.AnnotationPool)})
			continue
		}
		known, again := before[s.Key]
		if !again || !maps.Equal(known.annotations, s.Annotations) {
			known = annotationRequest{s.Annotations, fromAnnotations(s)}
		}
		wanted[s.Key], read[s.Key] = known.request, known
	}
	return wanted, notices, read
}
