package kube

import (
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleetv1alpha1 "github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// Resource is what a request is about: the objects of one kind in one namespace, or
// in the whole cluster where the namespace is empty.
type Resource struct {
	Version   schema.GroupVersion
	Name      string
	Namespace string
}

// The resources of a namespace, or of all namespaces where it is empty.
var (
	Services       = in(corev1.SchemeGroupVersion, "services")
	EndpointSlices = in(discoveryv1.SchemeGroupVersion, "endpointslices")
	Secrets        = in(corev1.SchemeGroupVersion, "secrets")
	// Envoys are the fleets.
	Envoys           = in(fleetv1alpha1.GroupVersion(), fleetv1alpha1.ResourceEnvoys)
	Leases           = in(coordinationv1.SchemeGroupVersion, "leases")
	Events           = in(eventsv1.SchemeGroupVersion, "events")
	EndpointBindings = in(v1alpha1.GroupVersion(), v1alpha1.ResourceEndpointBindings)
)

func in(version schema.GroupVersion, name string) func(namespace string) Resource {
	return func(namespace string) Resource { return Resource{version, name, namespace} }
}

// Nodes are those of the cluster.
func Nodes() Resource { return Resource{corev1.SchemeGroupVersion, "nodes", ""} }

// Namespaces are those of the cluster.
func Namespaces() Resource { return Resource{corev1.SchemeGroupVersion, "namespaces", ""} }

// EndpointPools are those of the cluster.
func EndpointPools() Resource {
	return Resource{v1alpha1.GroupVersion(), v1alpha1.ResourceEndpointPools, ""}
}

// SubjectReviews ask the server for the name of our user.
func SubjectReviews() Resource {
	return Resource{authenticationv1.SchemeGroupVersion, "selfsubjectreviews", ""}
}

// RulesReviews ask the server for all that we may do in a namespace.
func RulesReviews() Resource {
	return Resource{authorizationv1.SchemeGroupVersion, "selfsubjectrulesreviews", ""}
}

// Named selects the one object of that name.
func Named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
}

// types are the objects that are sent and received, and the lists that are not read by Each, by
// version.
func types() map[schema.GroupVersion][]runtime.Object {
	return map[schema.GroupVersion][]runtime.Object{
		corev1.SchemeGroupVersion: {
			&corev1.Service{}, &corev1.ServiceList{}, &corev1.Node{}, &corev1.Secret{}, &corev1.Namespace{},
		},
		discoveryv1.SchemeGroupVersion:      {&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}},
		coordinationv1.SchemeGroupVersion:   {&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
		eventsv1.SchemeGroupVersion:         {&eventsv1.Event{}},
		authenticationv1.SchemeGroupVersion: {&authenticationv1.SelfSubjectReview{}},
		authorizationv1.SchemeGroupVersion:  {&authorizationv1.SelfSubjectRulesReview{}},
		v1alpha1.GroupVersion():             nil, // see Raw
		fleetv1alpha1.GroupVersion():        {&fleetv1alpha1.Envoy{}},
	}
}

// scheme is the same for all clients: it takes a millisecond to make.
var scheme = sync.OnceValue(newScheme)

// newScheme knows these types, and what the API's machinery itself sends.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for version, objects := range types() {
		scheme.AddKnownTypes(version, objects...)
		metav1.AddToGroupVersion(scheme, version)
	}
	for _, kind := range []string{v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding} {
		scheme.AddKnownTypeWithName(v1alpha1.GroupVersion().WithKind(kind), &Raw{})
	}
	return scheme
}
