package kubeapi

import "k8s.io/client-go/rest"

// Way says how an API server is reached. Access is the way that files say.
type Way interface {
	// Snapshot returns the access as it is now, which the caller owns, and the
	// files that it is made of.
	Snapshot() (*rest.Config, Files, error)
	// Unusable says that no client can be made of it.
	Unusable() error
}

// Fixed is a way that never changes.
func Fixed(config *rest.Config) Way { return fixed{config} }

type fixed struct{ config *rest.Config }

func (f fixed) Snapshot() (*rest.Config, Files, error) {
	return rest.CopyConfig(f.config), Files{}, nil
}

func (f fixed) Unusable() error { return ErrUnusable }
