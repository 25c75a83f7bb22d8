package kube_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// answers is an API server that answers so, or an error in place of an answer.
type answers func(r *http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func TestContract54AnErrorConcernsOneObjectOrAllRequests(t *testing.T) {
	status := func(code int, message string) answers {
		return func(r *http.Request) (*http.Response, error) {
			return answer(r, code, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":`+message+`}`), nil
		}
	}
	for name, test := range map[string]struct {
		server      answers
		unavailable bool
	}{
		"too many requests":               {status(http.StatusTooManyRequests, `"slow down"`), true},
		"a webhook says so of the object": {status(http.StatusTooManyRequests, `"admission webhook \"a.example.com\" denied the request: slow down"`), false},
		"the server goes away": {func(*http.Request) (*http.Response, error) {
			return nil, errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR")
		}, true},
		"a stream ends": {func(*http.Request) (*http.Response, error) {
			return nil, errors.New("stream error: stream ID 1; INTERNAL_ERROR")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := &rest.Config{Host: "https://192.0.2.1"}
			config.Wrap(func(http.RoundTripper) http.RoundTripper { return test.server })
			err := newClient(t, kube.Fixed(config), 0).Create(t.Context(), kube.Services("shop"), &corev1.Service{}, nil)
			failed := new(kube.Error)
			if !errors.As(err, &failed) || failed.Unavailable != test.unavailable {
				t.Errorf("got %v, unavailable %v, want %v", err, failed.Unavailable, test.unavailable)
			}
		})
	}
}

func TestContract37ALibraryFollowsNoRedirect(t *testing.T) {
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		reached := false
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, code) }))
		path := filepath.Join(t.TempDir(), "kubeconfig")
		text := strings.ReplaceAll(`{apiVersion: v1, kind: Config, current-context: r, clusters: [{name: r, cluster: {server: "URL"}}],
contexts: [{name: r, context: {cluster: r, user: r}}], users: [{name: r, user: {token: s3cret}}]}`, "URL", server.URL)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		config, _, err := kube.Access{Kubeconfig: path, Setting: "KUBECONFIG"}.ForLibrary()
		if err != nil {
			t.Fatal(err)
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Get(server.URL)
		if err == nil {
			_ = response.Body.Close()
		}
		if err == nil || reached {
			t.Errorf("%d: got %v, reached %v, want an error", code, err, reached)
		}
		client.CloseIdleConnections()
		server.Close()
		other.Close()
	}
}
