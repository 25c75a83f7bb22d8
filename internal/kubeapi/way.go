package kubeapi

import "k8s.io/client-go/rest"

// Way says how an API server is reached. Access is the way that files say.
type Way interface {
	// Snapshot returns the access as it is now, which the caller owns, and a function
	// that reports whether it is another one by then.
	Snapshot() (config *rest.Config, changed func() bool, err error)
	// Describe adds to an error where the access comes from, and the remedy.
	Describe(err error) error
}

// Fixed is a way that never changes.
func Fixed(config *rest.Config) Way { return fixed{config} }

type fixed struct{ config *rest.Config }

func (f fixed) Snapshot() (config *rest.Config, changed func() bool, err error) {
	return rest.CopyConfig(f.config), func() bool { return false }, nil
}

func (f fixed) Describe(err error) error { return err }
