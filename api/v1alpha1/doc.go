// Package v1alpha1 has the documents that say which nodes may back which Services:
// EndpointPool, which the platform writes, and EndpointBinding, which a team writes in
// the namespace of its Service. Mounted files and the API server carry the same types. A
// Service with annotations is the short form of a binding.
//
// Everything that a document does not allow is forbidden. A pool without spec.allow
// backs no Service. A binding only chooses among what its pools allow: it names no
// address, no subnet, no program and no credential.
//
// Later versions of this API add optional fields only. The package needs apimachinery
// alone, decides nothing and validates nothing. The comments of the types have the rules
// that the API server knows; internal/endpoints/documents has them all.
//
// +kubebuilder:object:generate=true
// +groupName=endpoints.ablmnzde.github.io
package v1alpha1

//go:generate go tool -modfile=../../tools/controller-gen/go.mod controller-gen object paths=.
//go:generate go run -C ../../tools/controller-gen . -to deploy/crds ./api/v1alpha1
