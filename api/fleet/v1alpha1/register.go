package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the group of the kind, and the prefix of labels and annotations.
const GroupName = "fleet.ablmnzde.github.io"

// Version is the version of the documents in this package.
const Version = "v1alpha1"

// KindEnvoy is the kind of a fleet, ResourceEnvoys its name in the paths of the API.
const (
	KindEnvoy      = "Envoy"
	ResourceEnvoys = "envoys"
)

// GroupVersion returns the group and version of the kind.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: GroupName, Version: Version}
}

// AddToScheme makes the kind known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(), &Envoy{}, &EnvoyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
