// Package children makes the objects of a fleet. In: an Envoy, the settings of the
// operator, the files that running Pods were started from. Out: a ConfigMap, a Deployment,
// a Service, a PodDisruptionBudget and a NetworkPolicy, as they are to be.
//
// Everything is values: nothing here asks an API server, waits or logs. The same input
// gives the same objects.
package children
