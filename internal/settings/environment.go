package settings

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Environ returns the environment of this process, for Load. No other package
// may ask for it.
func Environ() []string { return os.Environ() }

// Environment is what a program that we start gets as its environment. It
// prints the names of its variables and never their values, because it may
// carry secrets.
type Environment struct{ values map[string]Secret }

// Read returns the environment as NAME=value, sorted by name; never nil, which
// os/exec would take for our own environment. A secret that a file holds is read
// again at each call and handed over under its plain name too.
func (e Environment) Read() ([]string, error) {
	entries := []string{}
	for _, name := range e.names() {
		value, err := e.values[name].Read()
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", name, err)
		}
		entries = append(entries, name+"="+value)
	}
	return entries, nil
}

// With returns the environment with the secrets that are set, by name.
func (e Environment) With(secrets map[string]Secret) Environment {
	all := make(map[string]Secret)
	maps.Copy(all, e.values)
	for name, secret := range secrets {
		if secret.IsSet() {
			all[name] = secret
		}
	}
	return Environment{all}
}

func (e Environment) names() []string { return slices.Sorted(maps.Keys(e.values)) }

// MarshalText returns the names of the variables; JSON, YAML and slog use it.
func (e Environment) MarshalText() ([]byte, error) { return fmt.Append(nil, e.names()), nil }

// Format writes the names of the variables, whatever the verb.
func (e Environment) Format(state fmt.State, _ rune) { _, _ = fmt.Fprint(state, e.names()) }

// newEnvironment selects variables by name.
func newEnvironment(env map[string]string, allowed func(name string) bool) Environment {
	values := make(map[string]Secret)
	for name, value := range env {
		if allowed(name) {
			values[name] = plainSecret(value)
		}
	}
	return Environment{values}
}

// forInventoryCommand reports whether the inventory command is given a
// variable: what a program needs to run and to reach the network, and what it
// needs to know of the remote cluster.
func forInventoryCommand(name string) bool {
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY":
		return true
	}
	switch name {
	case "PATH", "HOME", "KUBECONFIG":
		return true
	}
	return strings.HasPrefix(name, "IONOS_") || strings.HasPrefix(name, "SECURED_")
}

// forKubectl reports whether kubectl is given a variable: everything but what
// concerns the remote cluster. Plugins that log in to the local cluster may
// read any variable.
func forKubectl(name string) bool {
	return !strings.HasPrefix(name, "IONOS_") && !strings.HasPrefix(name, "SECURED_")
}
