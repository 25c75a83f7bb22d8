package kubernetes

import (
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

// access makes clients of the remote API server. Everything that a kubeconfig
// names is read into memory when a client is made, and compared with the files
// from then on, so that there is one way in which a rotated certificate, token
// or kubeconfig arrives: a new client. Only Run's goroutine uses it.
type access struct {
	way       kubeapi.Access
	userAgent string
	wrap      func(http.RoundTripper) http.RoundTripper

	client *client
	// files are those that the client was made of.
	files kubeapi.Files
}

// current returns a client made of what the files hold now.
func (a *access) current() (*client, error) {
	if a.client != nil && !a.files.Changed() {
		return a.client, nil
	}
	config, files, err := a.way.Snapshot()
	if err != nil {
		return nil, err
	}
	if a.wrap != nil {
		config.Wrap(a.wrap)
	}
	client, err := newClient(config, a.userAgent)
	if err != nil {
		return nil, a.way.Unusable()
	}
	a.close()
	a.client, a.files = client, files
	return client, nil
}

// Access returns the way to the API server as the files say it now, for who has
// to ask it for something else than nodes. Callers own it.
func (s *Source) Access() (*rest.Config, error) { return s.access.way.Config() }

// rotated reports whether the files hold another access by now, and a usable
// one: a file that is just being written ends no watch.
func (a *access) rotated() bool {
	if !a.files.Changed() {
		return false
	}
	_, _, err := a.way.Snapshot()
	return err == nil
}

func (a *access) close() {
	if a.client != nil {
		a.client.close()
	}
}
