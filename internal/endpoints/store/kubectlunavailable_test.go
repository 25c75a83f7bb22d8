package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
)

func TestWhatKubectlSaysOfAWriteIsAboutTheServerOrAboutThisSliceAlone(t *testing.T) {
	const post = `error: error when creating "STDIN": Post "https://10.0.0.1:6443/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?fieldManager=a&timeout=1.5s": `
	const discovery = `E1122 05:59:07.136924 26640 memcache.go:265] "Unhandled Error" err="couldn't get current server API group list: Get \"https://10.0.0.1:6443/api\": dial tcp 10.0.0.1:6443: connect: connection refused"
`
	for says, want := range map[string]bool{
		"The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?":                                                true,
		"Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout":                                                                            true,
		"Unable to connect to the server: dial tcp: lookup api.example.org: no such host":                                                                 true,
		"Unable to connect to the server: net/http: TLS handshake timeout":                                                                                true,
		"Unable to connect to the server: EOF":                                                                                                            true,
		"Unable to connect to the server: net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)":       true,
		discovery + `error: unable to recognize "STDIN": Get "https://10.0.0.1:6443/api?timeout=3s": dial tcp 10.0.0.1:6443: connect: connection refused`: true,
		post + "dial tcp 10.0.0.1:6443: connect: no route to host":                                                                                        true,
		post + "read tcp 10.0.0.9:40000->10.0.0.1:6443: read: connection reset by peer":                                                                   true,
		post + "unexpected EOF": true,
		post + "tls: failed to verify certificate: x509: certificate signed by unknown authority":                                    true,
		post + "remote error: tls: bad certificate":                                                                                  true,
		`Error from server (TooManyRequests): error when creating "STDIN": the server has received too many requests`:                true,
		`Error from server (ServiceUnavailable): error when replacing "STDIN": the server is currently unable to handle the request`: true,
		"Warning: Error from server\n" + `Error from server (ServiceUnavailable): no leader`:                                         true,

		post + "context deadline exceeded": false,
		"Unable to connect to the server: net/http: request canceled (Client.Timeout exceeded while awaiting headers)":                                                                                           false,
		post + "stream error: stream ID 1; INTERNAL_ERROR; received from peer":                                                                                                                                   false,
		`Error from server (Timeout): error when creating "STDIN": Timeout: request did not complete`:                                                                                                            false,
		`Error from server (Forbidden): error when creating "STDIN": exceeded quota`:                                                                                                                             false,
		`Error from server (NotFound): namespaces "default" not found`:                                                                                                                                           false,
		`Error from server (InternalError): error when creating "STDIN": failed calling webhook "a.example.org": Post "https://10.96.0.9:443/?timeout=10s": dial tcp 10.96.0.9:443: connect: connection refused`: false,
		`Error from server (TooManyRequests): error when creating "STDIN": admission webhook "a.example.org" denied the request: slow down`:                                                                      false,
		`Error from server (ServiceUnavailable): error when replacing "STDIN": admission webhook "a.example.org" denied the request: not now`:                                                                    false,
		`Error from server (Conflict): error when replacing "STDIN": admission webhook "a.example.org" denied the request: not so`:                                                                               false,
		`The EndpointSlice "web-remote" is invalid: endpoints[0]: connection refused`:                                                                                                                            false,
		discovery: false,
		"":        false,
	} {
		t.Run(says, func(t *testing.T) {
			store := newKubectl(t, storetest.Target("default"), program(t, `cat >/dev/null; printf '%s' "$SAYS" >&2; exit 1`), environ("SAYS="+says))
			_, err := store.Write(t.Context(), create())
			if err == nil || errors.Is(err, publish.ErrConflict) || errors.Is(err, publish.ErrUnavailable) != want {
				t.Errorf("got %v, want unavailable %t and no conflict", err, want)
			}
		})
	}
}

// realKubectl shows that kubectl of this release still says so.
func realKubectl(t *testing.T, path string) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		change  func(*httptest.Server)
		want    bool
	}{
		"refused":                {nil, func(s *httptest.Server) { s.StartTLS(); s.Close() }, true},
		"an unknown certificate": {nil, func(s *httptest.Server) { s.TLS = nil; s.StartTLS() }, true},
		"reset":                  {reset, (*httptest.Server).StartTLS, true},
		"closed":                 {hangUp, (*httptest.Server).StartTLS, true},
		"429":                    {status(http.StatusTooManyRequests, ""), (*httptest.Server).StartTLS, true},
		"503":                    {status(http.StatusServiceUnavailable, ""), (*httptest.Server).StartTLS, true},
		"a webhook denies by 429": {status(http.StatusTooManyRequests, `admission webhook "a.example.org" denied the request: no`),
			(*httptest.Server).StartTLS, false},
		"no answer in time":    {hang, (*httptest.Server).StartTLS, false},
		"one stream ended, h2": {hangUp, func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() }, false},
		"403":                  {status(http.StatusForbidden, "exceeded quota"), (*httptest.Server).StartTLS, false},
		"500":                  {status(http.StatusInternalServerError, "failed calling webhook"), (*httptest.Server).StartTLS, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(discovered(test.handler))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			test.change(server)
			defer server.Close()
			home := t.TempDir()
			trust := "insecure-skip-tls-verify: true"
			if name == "an unknown certificate" {
				trust = "insecure-skip-tls-verify: false"
			}
			kubeconfig := filepath.Join(home, "kubeconfig")
			document := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
				users: [{name: a, user: {token: a}}], clusters: [{name: a, cluster: {server: %q, %s}}]}`, server.URL, trust)
			if err := os.WriteFile(kubeconfig, []byte(document), 0o600); err != nil {
				t.Fatal(err)
			}
			store := newKubectl(t, storetest.Target("default"), path, []string{"HOME=" + home, "KUBECONFIG=" + kubeconfig})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := store.Write(ctx, create())
			if err == nil || errors.Is(err, publish.ErrUnavailable) != test.want {
				t.Errorf("got %v, want unavailable %t", err, test.want)
			}
		})
	}
}

// discovered answers what kubectl asks before it writes.
func discovered(handler http.HandlerFunc) http.HandlerFunc {
	const version = `{"groupVersion":"discovery.k8s.io/v1","version":"v1"}`
	documents := map[string]string{
		"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"discovery.k8s.io","versions":[` + version +
			`],"preferredVersion":` + version + `}]}`,
		"/apis/discovery.k8s.io/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"discovery.k8s.io/v1","resources":[` +
			`{"name":"endpointslices","singularName":"endpointslice","namespaced":true,"kind":"EndpointSlice","verbs":["create"]}]}`,
	}
	return func(w http.ResponseWriter, r *http.Request) {
		document, ok := documents[r.URL.Path]
		if !ok {
			handler(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, document)
	}
}

// status answers so; without a message as a server does that says nothing in the
// API's own words.
func status(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0") // kubectl would wait for it
		if message == "" {
			http.Error(w, "try again later", code)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		reason := map[int]string{http.StatusTooManyRequests: "TooManyRequests", http.StatusForbidden: "Forbidden"}[code]
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, message)
	}
}

func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// hangUp ends the connection, or in HTTP/2 the stream.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// reset ends the connection as a machine does that knows nothing of it.
func reset(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	if secured, ok := connection.(interface{ NetConn() net.Conn }); ok {
		connection = secured.NetConn()
	}
	_ = connection.(*net.TCPConn).SetLinger(0)
	connection.Close()
}
