package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the group of the kinds, and the prefix of the annotations and labels.
const GroupName = "endpoints.ablmnzde.github.io"

// Version is the version of the documents in this package.
const Version = "v1alpha1"

// APIVersion is what every document has as its apiVersion.
const APIVersion = GroupName + "/" + Version

// The kinds of documents.
const (
	KindEndpointPool    = "EndpointPool"
	KindEndpointBinding = "EndpointBinding"
)

// The names of the kinds in the paths of the API.
const (
	ResourceEndpointPools    = "endpointpools"
	ResourceEndpointBindings = "endpointbindings"
)

// GroupVersion returns the group and version of the kinds.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: GroupName, Version: Version}
}

// AddToScheme makes the kinds known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(), &EndpointPool{}, &EndpointPoolList{}, &EndpointBinding{}, &EndpointBindingList{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
