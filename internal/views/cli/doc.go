// Package cli holds the commands of endpoint-views and their wiring: it turns the
// configuration into a watch of the API server, a cache and a server.
//
// Flags are only for one invocation; configuration is read from the environment. Data
// goes to standard output, messages and logs to standard error.
package cli
