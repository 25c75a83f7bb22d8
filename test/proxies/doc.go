// Package proxies runs a real Envoy that is sent what endpoint-views sends to a fleet, and
// asks it as clients do: each field of a listener does what its documentation says. The
// tests need `make lab`.
package proxies
