// Package v1alpha1 has the kind Envoy: a fleet of Envoy Pods that lead to Services. A team
// writes it in the namespace of its Services; endpoint-views fleet makes the Pods, and
// endpoint-views serve tells them what to do.
//
// The fields name, configMapName, replicas, xds and status.availableReplicas are those of
// kube-envoy-controller and mean what they meant there.
//
// Later versions of this API add optional fields only. The package decides nothing and
// validates nothing: what the API server refuses is in the markers.
//
// +kubebuilder:object:generate=true
// +groupName=fleet.ablmnzde.github.io
package v1alpha1

//go:generate go tool -modfile=../../../tools/controller-gen/go.mod controller-gen object crd:crdVersions=v1 paths=. output:crd:dir=../../../deploy/fleet
