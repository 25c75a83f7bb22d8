// Package drain lets an Envoy that ends finish what it has begun. In: the address of its
// admin page. Out: nothing is active in it any more, or the time is over. It runs in the
// Pod of that Envoy, before Kubernetes ends it.
package drain
