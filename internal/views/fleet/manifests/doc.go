// Package manifests says what an operator writes for an Envoy. In: the Envoy, the settings of
// the operator, the files that running Pods were started from, and what is seen of its
// Deployment, Pods and streams. Out: a ConfigMap, a Deployment, a Service, a
// PodDisruptionBudget and a NetworkPolicy, as they are to be, and the status of the Envoy.
//
// Everything is values: nothing here asks an API server, waits or logs. The same input
// gives the same objects.
package manifests
