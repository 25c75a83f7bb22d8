// Package variables translates between the two forms of an installation: the variables of
// one Service, and documents.
//
// In: a configuration; out: a pool and a binding as YAML that decide the same. And back:
// a pool and a binding in, variables out, from which config.Load makes typed values. It
// reads no file and never repeats a secret.
package variables
