// Package environment is the environment as a carrier of documents, beside files and objects.
//
// In: a configuration; out: the pool and the binding that decide the same, as values and
// as YAML, and what the rules of documents say of them, with the names of variables. It
// never repeats a secret.
package environment
