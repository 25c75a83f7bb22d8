package stream_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// The attempts of a client to see more than it may. Those by the query and by another
// certificate or token are in access_test.go, those by the page in page_test.go.

const (
	haproxyURI = "spiffe://cluster.local/ns/shop/client/haproxy"
	dnsURI     = "spiffe://cluster.local/ns/ops/client/dns"
)

// own fails where a text tells of another namespace than shop.
func own(t *testing.T, what, text string) {
	t.Helper()
	if strings.Contains(text, "blog") || strings.Contains(text, "secret") {
		t.Errorf("%s: got %s, want nothing of other namespaces", what, text)
	}
}

// TestContract43ATokenToGoOnFromOpensNoNamespace: a client resumes from before changes in
// namespaces that it may not see, and from after one; and with the token of one that sees
// everything.
func TestContract43ATokenToGoOnFromOpensNoNamespace(t *testing.T) {
	c := newCluster(t, "shop", "blog", "secret")
	s := secure(t, c)
	marked := func(uri string) string {
		return watch(t, s.client(t, s.ca, uri), s.url+"/api/v1/views?watch=true").mark(t)
	}
	token := marked(haproxyURI)
	c.slice("secret", 7)
	hidden := marked(haproxyURI) // after a change that is hidden
	if code, text := get(t, s.client(t, s.ca, haproxyURI), s.url+"/api/v1/views?watch=true&timeoutSeconds=1&resourceVersion="+marked(dnsURI), ""); code != http.StatusGone {
		t.Errorf("the token of another one: got %d %s, want 410", code, text)
	}
	c.slice("blog", -1)
	c.slice("shop", 1, 2)
	for _, from := range []string{token, hidden} {
		for _, form := range []string{"", "&ready=true", "&gather=true", "&gather=true&ready=true"} {
			s := secure(t, c) // another replica, with places of its own for streams
			stream := watch(t, s.client(t, s.ca, haproxyURI), s.url+"/api/v1/views?watch=true&resourceVersion="+from+form)
			e := stream.next(t)
			if own(t, from+form, stream.Text()); e.Object.Metadata.Namespace != "shop" {
				t.Errorf("%s%s: got %s, want what happened in shop since", from, form, stream.Text())
			}
			if stream.next(t); !strings.Contains(stream.Text(), `"BOOKMARK"`) {
				t.Errorf("%s%s: got %s, want the mark after one change", from, form, stream.Text())
			}
		}
	}
}

func TestContract43ChangesThatAreHiddenSendNothing(t *testing.T) {
	c := newCluster(t, "shop", "secret")
	s := secure(t, c)
	stream := watch(t, s.client(t, s.ca, haproxyURI), s.url+"/api/v1/views?watch=true")
	stream.next(t)
	stream.next(t)
	for n := range 50 {
		c.slice("secret", n+1)
	}
	c.service("secret")
	c.slice("shop", 1, 2)
	if e := stream.next(t); e.Object.Metadata.Namespace != "shop" {
		t.Errorf("got %s, want the change in shop and nothing before", stream.Text())
	}
}

// TestContract43HeadersAndPathsOpenNothing: what proxies set, and what other servers
// take for an identity, a path or a method. Over HTTP/2 and over HTTP/1.1.
func TestContract43HeadersAndPathsOpenNothing(t *testing.T) {
	s := secure(t, newCluster(t, "shop", "blog", "secret"))
	two := s.client(t, s.ca, haproxyURI)
	one := s.client(t, s.ca, haproxyURI)
	one.Transport.(*http.Transport).ForceAttemptHTTP2 = false //nolint:forcetypeassert // made above
	for name, value := range map[string]string{
		"X-Forwarded-Client-Cert": "URI=" + dnsURI, "X-Remote-User": "ops/dns", "X-Forwarded-User": "ops/dns", "Impersonate-User": "ops/dns",
		"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1;host=localhost", "X-Real-Ip": "127.0.0.1", "X-Original-Url": "/api/v1/views?namespace=blog",
		"X-Rewrite-Url": "/api/v1/views?namespace=blog", "X-Http-Method-Override": "POST", "Authorization": "Basic b3BzL2RuczpvcHMvZG5z",
		"Cookie": "namespace=blog", "Ssl-Client-Cert": string(s.ca.pem[:27]), "Host": "localhost", "Connection": "Authorization",
	} {
		for protocol, client := range map[int]*http.Client{1: one, 2: two} {
			request := ask(t, s.url+"/api/v1/views")
			request.Header.Set(name, value)
			if name == "Host" {
				request.Host = value
			}
			if protocol == 2 && name == "Connection" {
				continue // no header of HTTP/2
			}
			code, got, text := answer(t, client, request)
			if code != http.StatusOK || got != protocol || !strings.Contains(text, `"namespace":"shop"`) {
				t.Errorf("%s: got %d over HTTP/%d %s, want what the certificate may see", name, code, got, text)
			}
			own(t, name, text)
		}
	}
	for _, path := range []string{
		"//api/v1/views", "/api/v1/views/", "/api/v1/views/blog", "/api/v1/./views", "/x/../api/v1/views", "/api/v1/views%3Fnamespace=blog", "/metrics", "/readyz",
		"/debug/pprof/", "/api/v1/views?namespace=shop;namespace=blog", "/api/v1/views?namespace=shop%2Cblog", "/api/v1/views?namespace=blog%00", "/?namespace=shop&namespace=blog",
		"/?service=web&page=1", "/api/v1/views?namespace=&namespace=blog",
	} {
		for _, client := range []*http.Client{one, two} {
			_, _, text := answer(t, client, ask(t, s.url+path))
			own(t, path, strings.NewReplacer("namespace=blog", "", "namespace blog", "", `"blog`, "", "views/blog", "").Replace(text))
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodConnect, "PROPFIND"} {
		request := ask(t, s.url+"/api/v1/views")
		request.Method = method
		if code, _, text := answer(t, two, request); code == http.StatusOK || strings.Contains(text, "namespace") {
			t.Errorf("%s: got %d %s, want no answer", method, code, text)
		}
	}
}

// TestContract43EachRequestOfAConnectionShowsWhoAsks: a proxy may send requests of
// several clients over one connection.
func TestContract43EachRequestOfAConnectionShowsWhoAsks(t *testing.T) {
	s := secure(t, newCluster(t, "shop", "blog"))
	client := s.client(t, nil)
	for n, c := range []struct {
		bearer string
		code   int
	}{{token, http.StatusOK}, {"", http.StatusUnauthorized}, {"another-token-of-many-letters", http.StatusUnauthorized}, {token, http.StatusOK}} {
		request := ask(t, s.url+"/api/v1/views")
		if c.bearer != "" {
			request.Header.Set("Authorization", "Bearer "+c.bearer)
		}
		reused := false
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
		code, _, text := answer(t, client, request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
		if code != c.code || reused != (n > 0) {
			t.Errorf("request %d: got %d (connection used before: %t), want %d", n, code, reused, c.code)
		}
		own(t, "a request of one connection", text)
	}
}

// TestContract43AStreamEndsWhenItsClientIsRevoked, and what it showed opens nothing then.
func TestContract43AStreamEndsWhenItsClientIsRevoked(t *testing.T) {
	for name, c := range map[string]struct {
		bearer string
		revoke func(*testing.T, *tlsServer)
		code   int
	}{
		"the client leaves the list": {"", func(t *testing.T, s *tlsServer) {
			t.Helper()
			s.list(t, "identities: [{name: ops/dns, namespaces: ['*']}]\n")
		}, http.StatusForbidden},
		"its token is another one": {token, func(t *testing.T, s *tlsServer) {
			t.Helper()
			write(t, filepath.Join(s.dir, "token"), []byte("another-token-of-many-letters"))
		}, http.StatusUnauthorized},
		"its authority is another one": {"", func(t *testing.T, s *tlsServer) {
			t.Helper()
			write(t, filepath.Join(s.dir, "ca.crt"), newAuthority(t).pem)
		}, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := secure(t, newCluster(t, "shop", "blog"))
			client := s.client(t, s.ca, haproxyURI)
			stream := watchAs(t, client, s.url+"/api/v1/views?watch=true", c.bearer)
			stream.next(t)
			stream.next(t)
			c.revoke(t, s)
			if e := stream.next(t); e.Type != views.Error || e.Object.Code != http.StatusGone {
				t.Errorf("got %s, want 410", stream.Text())
			}
			if code, text := get(t, client, s.url+"/api/v1/views", c.bearer); code != c.code {
				t.Errorf("got %d %s on the connection of before, want %d", code, text, c.code)
			}
		})
	}
}

func TestContract43ACertificateThatExpiresOpensNothingOnItsConnection(t *testing.T) {
	t.Parallel()
	s := secure(t, newCluster(t, "shop"))
	client := s.shows(t, s.ca, &x509.Certificate{NotAfter: time.Now().Add(4 * time.Second)}, haproxyURI)
	if code, text := get(t, client, s.url+"/api/v1/views", ""); code != http.StatusOK {
		t.Fatalf("got %d %s, want 200 while the certificate is valid", code, text)
	}
	stream := watch(t, client, s.url+"/api/v1/views?watch=true")
	for stream.Scan() { // until it ends
	}
	s.until(t, "the certificate has expired", func() bool {
		code, _ := get(t, client, s.url+"/api/v1/views", "") // 0 would be a new connection
		return code == http.StatusUnauthorized
	})
}

// TestContract43AnAuthorityThatCannotBeReadChangesNothing for those who are connected.
func TestContract43AnAuthorityThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "shop")
	s := secure(t, c)
	client := s.client(t, s.ca, haproxyURI)
	stream := watch(t, client, s.url+"/api/v1/views?watch=true")
	stream.next(t)
	stream.next(t)
	write(t, filepath.Join(s.dir, "ca.crt"), nil)
	write(t, filepath.Join(s.dir, "token"), []byte("another-token-of-many-letters"))
	s.until(t, "the files were read again", func() bool {
		code, _ := get(t, client, s.url+"/api/v1/views", token)
		return code == http.StatusUnauthorized
	})
	c.slice("shop", 1, 2)
	if e := stream.next(t); e.Type != views.Added {
		t.Errorf("got %s, want that the stream goes on", stream.Text())
	}
	if code, text := get(t, client, s.url+"/api/v1/views", ""); code != http.StatusOK {
		t.Errorf("got %d %s, want the last good authority in effect", code, text)
	}
}
