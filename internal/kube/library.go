package kube

import (
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Silence ends what client-go logs where no context reaches it, such as why a plugin got
// no new token. What goes wrong is in the errors. It is for main, before anything else:
// the logger is the process's.
func Silence() { klog.SetLogger(klog.New(nil)) }

// ForLibrary returns the access as the files say it now, for a library that makes clients
// of its own. They follow no redirect, and an error that comes without an answer shows no
// credential. What a server itself says may repeat one: hide removes those that were used
// from a text. Only the files of the token and of the certificates are read again.
func (a Access) ForLibrary() (config *rest.Config, hide func(string) string, err error) {
	if config, err = a.Config(); err != nil {
		return nil, nil, err
	}
	if config.Proxy == nil {
		config.Proxy = transport.ProxyFromEnvironment
	}
	secrets := &transport.Secrets{}
	secrets.Add(config.BearerToken, config.Password)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &guarded{inner, secrets} })
	return config, secrets.Hide, nil
}

// guarded does for a library what a Client does for its own requests.
type guarded struct {
	http.RoundTripper

	secrets *transport.Secrets
}

func (g *guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	remember(g.secrets, request)
	response, err := g.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, &Error{text: transport.Cut(g.secrets.Hide(err.Error()), transport.MostShown), cause: err}
	}
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return nil, errors.Join(errRedirect, response.Body.Close())
	}
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (g *guarded) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }
