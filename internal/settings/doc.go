// Package settings turns the environment into a configuration that cannot be
// wrong. It is the only package that reads the environment.
//
// In comes a list of NAME=value strings; out goes a Config whose values are
// parsed, bounded and agree with each other, or every mistake at once. The
// reference of all variables is generated from the same fields and tags.
//
// It never logs, never reaches the network and never prints a secret. It reads
// no file but those that hold secrets and the certificates of the health check.
package settings

//go:generate go test -run TestTheReferenceIsCurrent . -update
