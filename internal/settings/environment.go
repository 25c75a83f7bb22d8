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
type Environment struct {
	names []string
	read  func() ([]string, error)
}

// Read returns the environment as NAME=value, sorted by name; never nil, which
// os/exec would take for our own environment. A secret that a file holds is read
// again at each call and handed over under its plain name too.
func (e Environment) Read() ([]string, error) {
	if e.read == nil {
		return []string{}, nil
	}
	return e.read()
}

// MarshalText returns the names of the variables; JSON, YAML and slog use it.
func (e Environment) MarshalText() ([]byte, error) { return fmt.Append(nil, e.names), nil }

// Format writes the names of the variables, whatever the verb.
func (e Environment) Format(state fmt.State, _ rune) { _, _ = fmt.Fprint(state, e.names) }

// newEnvironment selects variables by name and adds the secrets, by plain name,
// that a file holds.
func newEnvironment(env map[string]string, allowed func(name string) bool, secrets map[string]Secret) Environment {
	selected := maps.Clone(env)
	maps.DeleteFunc(selected, func(name, _ string) bool { return !allowed(name) })
	names := slices.Collect(maps.Keys(selected))
	for name := range secrets {
		if _, plain := selected[name]; !plain {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return Environment{names: names, read: func() ([]string, error) {
		entries := make([]string, 0, len(names))
		for _, name := range names {
			value, plain := selected[name]
			if !plain {
				secret, err := secrets[name].Read()
				if err != nil {
					return nil, fmt.Errorf("environment variable %s: %w", name, err)
				}
				value = secret
			}
			entries = append(entries, name+"="+value)
		}
		return entries, nil
	}}
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
