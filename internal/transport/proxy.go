package transport

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// ProxyFromEnvironment is http.ProxyFromEnvironment with errors that may be shown: those of
// the library repeat the value. A proxy that CheckProxy refuses is an error, and not
// asked for.
func ProxyFromEnvironment(request *http.Request) (*url.URL, error) {
	address, err := http.ProxyFromEnvironment(request)
	if err == nil && address != nil {
		err = CheckProxy(address)
	}
	if err != nil {
		return nil, errors.New("the proxy in HTTPS_PROXY or HTTP_PROXY is no valid URL; " + ProxyRemedy)
	}
	return address, nil
}

// ProxyRemedy is what to do about a URL that is not valid, and why it is not shown.
const ProxyRemedy = "it is not shown, because it may hold a password, whose special characters have to be escaped (/ as %2F)"

var errMisread = errors.New("the URL of the proxy has no host, or an @ behind it")

// CheckProxy returns an error where a part of the user name or password would be taken for
// the host and port, which errors about connections name: http://me:123/x@proxy is the
// port 123 of the host me.
func CheckProxy(address *url.URL) error {
	if address.Host == "" || strings.Contains(address.Path+address.RawQuery+address.Fragment, "@") {
		return errMisread
	}
	return nil
}
