package transport_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// The environment is read once in a process, so this is the only test that asks for it.
func TestContract35AProxyOfTheEnvironmentIsUsedOrRefusedAndNotShown(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://c4n4ry-s3cr3t/x@proxy.example:3128")
	t.Setenv("HTTP_PROXY", "http://me:p%2Fw@proxy.example:3128/")
	t.Setenv("NO_PROXY", "direct.example")
	ask := func(address string) (*url.URL, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		return transport.ProxyFromEnvironment(request)
	}
	if got, err := ask("http://api.example"); err != nil || got.String() != "http://me:p%2Fw@proxy.example:3128/" {
		t.Errorf("got %v, %v, want the proxy of HTTP_PROXY", got, err)
	}
	if got, err := ask("https://direct.example"); err != nil || got != nil {
		t.Errorf("got %v, %v, want none for a host in NO_PROXY", got, err)
	}
	got, err := ask("https://api.example")
	if err == nil || got != nil || strings.Contains(err.Error(), "c4n4ry") || !strings.Contains(err.Error(), "HTTPS_PROXY") {
		t.Errorf("got %v, %v, want an error that names HTTPS_PROXY and not its value", got, err)
	}
}

func TestContract35AProxyWhosePasswordWouldBeTakenForItsHostIsRefused(t *testing.T) {
	for text, valid := range map[string]bool{
		"http://proxy:3128": true, "http://proxy:3128/": true, "http://me:p%2Fw@proxy:3128": true, "socks5://me@corp:p@ss@proxy": true,
		"http://s3cr3t/x@proxy:3128": false, "http://me:123/x@proxy": false, "http://me:123?x@proxy": false, "http://me:123#x@proxy": false,
		"http:me:s3cr3t@proxy": false,
	} {
		address, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := transport.CheckProxy(address); (got == nil) != valid {
			t.Errorf("%s: got %v, want valid: %t", text, got, valid)
		}
	}
}
