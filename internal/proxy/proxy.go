// Package proxy says through which proxy a request goes, as the environment says it. In:
// requests, and the URLs of proxies. Out: the proxy, and errors that quote nothing of its
// URL, for that may hold a password. It never connects to one.
package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// FromEnvironment is http.ProxyFromEnvironment with errors that may be shown: those of
// the library repeat the value. A proxy that Check refuses is an error, and not
// asked for.
func FromEnvironment(request *http.Request) (*url.URL, error) {
	address, err := http.ProxyFromEnvironment(request)
	if err == nil && address != nil {
		err = Check(address)
	}
	if err != nil {
		return nil, errors.New("the proxy in HTTPS_PROXY or HTTP_PROXY is no valid URL; " + Remedy)
	}
	return address, nil
}

// Remedy is what to do about a URL that is not valid, and why it is not shown.
const Remedy = "it is not shown, because it may hold a password, whose special characters have to be escaped (/ as %2F)"

var errMisread = errors.New("the URL of the proxy has no host, or an @ behind it")

// Check returns an error where a part of the user name or password would be taken for
// the host and port, which errors about connections name: http://me:123/x@proxy is the
// port 123 of the host me.
func Check(address *url.URL) error {
	if address.Host == "" || strings.Contains(address.Path+address.RawQuery+address.Fragment, "@") {
		return errMisread
	}
	return nil
}
