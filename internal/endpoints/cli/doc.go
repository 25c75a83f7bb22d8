// Package cli holds the commands and the wiring. It is the only package that
// knows every adapter: it turns the configuration into a source, a prober and a
// store and hands them to the engine.
//
// Flags are only for one invocation; configuration is read from the environment.
// Data goes to standard output, messages and logs to standard error.
package cli
