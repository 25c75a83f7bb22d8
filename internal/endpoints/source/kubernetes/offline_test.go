package kubernetes_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
)

const canary = "canary-8f3a91c7"

// api is an API server that answers as a test wants.
type api struct {
	*httptest.Server

	mu     sync.Mutex
	answer http.HandlerFunc
	asked  []*http.Request
}

func newAPI(t *testing.T, answer http.HandlerFunc) *api {
	t.Helper()
	return newAPIAt(t, nil, answer)
}

// newAPIAt is an API server at the listener, nil for one of the network.
func newAPIAt(t *testing.T, listener net.Listener, answer http.HandlerFunc) *api {
	t.Helper()
	a := &api{answer: answer}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		answer := a.answer
		a.asked = append(a.asked, r)
		a.mu.Unlock()
		answer(w, r)
	}))
	if listener != nil {
		_ = a.Listener.Close()
		a.Listener = listener
	}
	a.EnableHTTP2 = true
	a.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.StartTLS()
	t.Cleanup(func() {
		a.CloseClientConnections()
		a.Close()
	})
	return a
}

func (a *api) set(answer http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// requests returns how often the server was asked.
func (a *api) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

// source watches the API server with the canary as its token.
func (a *api) source(t *testing.T) *kubernetes.Source {
	t.Helper()
	source := newSource(t, kubernetes.Options{Way: remote(a.kubeconfig(t))})
	run(t, source)
	return source
}

// kubeconfig holds the canary as its token.
func (a *api) kubeconfig(t *testing.T) string {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	return writeKubeconfig(t, "", a.URL, &rest.Config{BearerToken: canary, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
}

// serve is how an API server streams a list of these nodes and then keeps quiet.
func serve(nodes ...*corev1.Node) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list(w, nodes...)
		<-r.Context().Done()
	}
}

// list begins a stream with a complete list.
func list(w http.ResponseWriter, nodes ...*corev1.Node) {
	w.Header().Set("Content-Type", "application/json")
	for _, node := range nodes {
		tell(w, "ADDED", node)
	}
	end := &corev1.Node{}
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	tell(w, "BOOKMARK", end)
}

func tell(w http.ResponseWriter, kind string, node *corev1.Node) {
	node = node.DeepCopy()
	node.APIVersion, node.Kind, node.ResourceVersion = "v1", "Node", "10"
	_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": node})
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

// failing answers with a status and a text.
func failing(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}
}

// status is an answer as the API's machinery gives it.
func status(code int, reason metav1.StatusReason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: reason, Message: message, Code: int32(code),
		})
	}
}

// onlyLists cannot stream lists, and answers a list with a text.
func onlyLists(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("sendInitialEvents"):
			status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden")(w, r)
		case r.URL.Query().Has("watch"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			if flusher, ok := w.(http.Flusher); ok {
				flusher.Flush()
			}
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(text))
		}
	}
}

func misbehaviours() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"500":                   failing(http.StatusInternalServerError, "oh no, Bearer "+canary),
		"502 with HTML":         failing(http.StatusBadGateway, "<html><body>"+strings.Repeat(canary, 1000)+"</body></html>"),
		"401":                   status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized: "+canary),
		"403":                   status(http.StatusForbidden, metav1.StatusReasonForbidden, `nodes is forbidden: User "x" cannot watch resource "nodes"`),
		"200 with nothing":      failing(http.StatusOK, ""),
		"200 with HTML":         failing(http.StatusOK, "<html>please log in</html>"),
		"200 with null":         failing(http.StatusOK, "null"),
		"a redirect":            func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"a list of nothing":     onlyLists("{}"),
		"a list without a mark": onlyLists(`{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]}`),
		"a truncated list":      onlyLists(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"a"`),
		"another kind of list":  onlyLists(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[]}`),
		"a stream that breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			tell(w, "ADDED", whole())
		},
		"connections that end": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
	}
}

func TestContract02And35WhateverTheServerAnswersIsNoReadAndTellsNoSecret(t *testing.T) {
	for name, answer := range misbehaviours() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, serve(whole()))
			source := a.source(t)
			if got := read(t, source); len(got) != 1 {
				t.Fatalf("got %d nodes, want 1", len(got))
			}
			drain(source)
			a.set(answer)
			a.CloseClientConnections()
			await(t, source, "the outage", failed)
			for i := 0; i < 50; i++ {
				nodes, err := source.Read(t.Context())
				if nodes != nil || !isStale(err) {
					t.Fatalf("got %d nodes, %v, want an error that says since when", len(nodes), err)
				}
				if text := err.Error(); strings.Contains(text, canary) || len(text) > 1000 {
					t.Fatalf("the error holds the token, or is long: %s", text)
				}
				<-time.After(20 * time.Millisecond)
			}
			a.set(serve())
			await(t, source, "the return", func(nodes []inventory.Node, err error) bool { return err == nil && len(nodes) == 0 })
		})
	}
}

func TestAServerThatCannotStreamListsIsAskedForOne(t *testing.T) {
	a := newAPI(t, onlyLists(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"a"}}]}`))
	source := a.source(t)
	if got := read(t, source); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("got %v, want node a", got)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.asked {
		if version := r.URL.Query().Get("resourceVersion"); version == "0" {
			t.Errorf("asked for %s, which may be answered from any time in the past", r.URL)
		}
	}
}

func TestContract03RetryAfterIsHonoured(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "not now")(w, r)
	})
	source := a.source(t)
	for deadline := time.Now().Add(waitTimeout); a.requests() == 0 && time.Now().Before(deadline); {
		<-time.After(10 * time.Millisecond)
	}
	<-time.After(3 * time.Second)
	if got := a.requests(); got != 1 {
		t.Errorf("got %d requests, want one", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := source.Read(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not now") {
		t.Errorf("got %v, want a deadline and the reason", err)
	}
}
