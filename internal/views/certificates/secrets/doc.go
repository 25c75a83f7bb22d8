// Package secrets keeps the Secrets with the certificates of endpoint-views and of fleets.
// In: an API server, the names of Secrets. Out: Secrets that package certificates has made,
// written where they differ.
//
// It changes no Secret that it has not made, and deletes none. No key is in an error.
package secrets
