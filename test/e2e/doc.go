// Package e2e runs the built binary by environment variables alone, against a
// real API server and real backends, once for each store that writes to one.
//
// It is for tests only.
package e2e
