// Package conformance asks programs of other projects what they make of the
// slices that the daemon writes: kube-proxy in both modes, CoreDNS and Traefik,
// all real, against one real API server. A scenario brings real backends and a
// real daemon into one state, and each consumer is asked until "never" means
// something. What they must route to is in scenarios_test.go, and as a
// table, which the test writes, in docs/how-to/service.md.
//
// All but this file carries the build tag lab: it needs root, iproute2,
// nftables, iptables and `tools/build.sh lab`. `make lab` runs it.
package conformance
