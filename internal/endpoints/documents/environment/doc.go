// Package environment is the environment as a carrier of documents, beside files and objects.
//
// In: a configuration; out: the pool and the binding that decide the same, as values and
// as YAML. It reads no file and never repeats a secret.
package environment
