package kube_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// server answers every request in the same way and keeps what it saw.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	status   int
	header   http.Header
	body     string
	requests []string
	tokens   []string
	remotes  map[string]bool
}

func newServer(t *testing.T, status int) *server {
	s := &server{status: status, header: http.Header{}, remotes: map[string]bool{}, body: `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path+" "+r.UserAgent())
		s.tokens = append(s.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		s.remotes[r.RemoteAddr] = true
		w.Header().Set("Content-Type", "application/json")
		for name, values := range s.header {
			w.Header()[name] = values
		}
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(s.body))
	}))
	t.Cleanup(s.Close)
	return s
}

func newClient(t *testing.T, way kube.Way, timeout time.Duration) *kube.Client {
	t.Helper()
	client, err := kube.New(kube.Options{Way: way, UserAgent: "tester", Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func to(url string) kube.Way { return kube.Fixed(&rest.Config{Host: url, BearerToken: canary}) }

// get reads the Lease.
func get(t *testing.T, c *kube.Client) error {
	return c.Get(t.Context(), kube.Leases("n"), "a", &coordinationv1.Lease{})
}

func TestClientAsksForItsResources(t *testing.T) {
	s := newServer(t, http.StatusOK)
	var got coordinationv1.Lease
	if err := newClient(t, to(s.URL), 0).Get(t.Context(), kube.Leases("n"), "a", &got); err != nil || got.Name != "a" {
		t.Errorf("got %q, %v, want the lease", got.Name, err)
	}
	want := "GET /apis/coordination.k8s.io/v1/namespaces/n/leases/a tester"
	if len(s.requests) != 1 || s.requests[0] != want {
		t.Errorf("got %q, want %q", s.requests, want)
	}
}

// every calls each method that sends a request.
func every(ctx context.Context, c *kube.Client) map[string]error {
	lease, leases := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, kube.Leases("n")
	_, watch := c.Watch(ctx, leases, metav1.ListOptions{})
	return map[string]error{
		"get": c.Get(ctx, leases, "a", &coordinationv1.Lease{}), "list": c.List(ctx, leases, metav1.ListOptions{}, &coordinationv1.LeaseList{}),
		"create": c.Create(ctx, leases, lease, nil), "update": c.Update(ctx, leases, "a", lease, nil), "watch": watch,
	}
}

func TestContract21EachRequestIsSentOnceHoweverTheServerAnswers(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		s := newServer(t, status)
		s.header.Set("Retry-After", "0")
		failed := every(t.Context(), newClient(t, to(s.URL), 0))
		for name, err := range failed {
			if answer := new(kube.Error); !errors.As(err, &answer) || answer.Unavailable != (status != http.StatusInternalServerError) {
				t.Errorf("%s, answered %d: got %v, want an Error that says whether the server is available", name, status, err)
			}
		}
		if len(s.requests) != len(failed) {
			t.Errorf("answered %d: got the requests %q, want one of each kind", status, s.requests)
		}
	}
}

func TestContract35NoRedirectIsFollowed(t *testing.T) {
	other := newServer(t, http.StatusOK)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := newServer(t, status)
		s.header.Set("Location", other.URL+"/steal")
		for name, err := range every(t.Context(), newClient(t, to(s.URL), 0)) {
			if err == nil {
				t.Errorf("%s, answered %d: got no error", name, status)
			}
		}
	}
	if len(other.requests) != 0 {
		t.Errorf("got the requests %q with the tokens %q at another server, want none", other.requests, other.tokens)
	}
}

func TestContract35WhatAServerRepeatsOfACredentialIsNotShown(t *testing.T) {
	s := newServer(t, http.StatusForbidden)
	s.body = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"no right for ` + canary + `"}`
	for name, err := range every(t.Context(), newClient(t, to(s.URL), 0)) {
		if err == nil || strings.Contains(err.Error(), canary) || len(err.Error()) > 600 {
			t.Errorf("%s: got %v, want an error without the token", name, err)
		}
	}
}

func TestRetryAfterIsReadInBothFormsAndBounded(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "86400": 5 * time.Minute, "-1": 0, "soon": 0, "99999999999999999999": 5 * time.Minute,
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): 5 * time.Minute, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
	} {
		s := newServer(t, http.StatusTooManyRequests)
		s.header.Set("Retry-After", header)
		answer := new(kube.Error)
		if err := get(t, newClient(t, to(s.URL), 0)); !errors.As(err, &answer) || answer.RetryAfter != want {
			t.Errorf("%q: got %v, want %v", header, answer.RetryAfter, want)
		}
	}
}

func TestClientsShareNoConnection(t *testing.T) {
	s := newServer(t, http.StatusOK)
	ask := func(c *kube.Client) {
		t.Helper()
		if err := get(t, c); err != nil {
			t.Fatal(err)
		}
	}
	first, second := newClient(t, to(s.URL), 0), newClient(t, to(s.URL), 0)
	ask(first)
	ask(first)
	if got := len(s.remotes); got != 1 {
		t.Errorf("got %d connections of one client, want 1", got)
	}
	ask(second)
	if got := len(s.remotes); got != 2 {
		t.Errorf("got %d connections of two clients, want 2", got)
	}
	second.Reconnect()
	ask(second)
	if got := len(s.remotes); got != 3 {
		t.Errorf("got %d connections after a reconnect, want 3", got)
	}
	ask(first)
	if got := len(s.remotes); got != 3 {
		t.Errorf("got %d connections, want that one client's reconnect leaves the other's alone", got)
	}
}

func TestTheLocalAddressIsThatOfAConnection(t *testing.T) {
	s := newServer(t, http.StatusOK)
	c := newClient(t, to(s.URL), 0)
	if got := c.LocalAddr(); got.IsValid() {
		t.Errorf("got %s before a connection, want none", got)
	}
	if err := get(t, c); err != nil {
		t.Fatal(err)
	}
	if got := c.LocalAddr().String(); got != "127.0.0.1" {
		t.Errorf("got %s, want 127.0.0.1", got)
	}
	c.Close()
	if got := c.LocalAddr(); got.IsValid() {
		t.Errorf("got %s after the last connection, want none", got)
	}
}

func TestAServerThatIsSilentIsGivenUpInTime(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, err := range every(ctx, newClient(t, to(silent.URL), 50*time.Millisecond)) {
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%s: got %v, want a time-out long before the context's", name, err)
		}
	}
}

// endless is a server with watches that send nothing and never end.
type endless struct{}

func (endless) RoundTrip(r *http.Request) (*http.Response, error) {
	body := make(waitingBody)
	context.AfterFunc(r.Context(), func() { close(body) })
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}, nil
}

// waitingBody is a body that ends when it is closed.
type waitingBody chan struct{}

func (w waitingBody) Read([]byte) (int, error) { <-w; return 0, context.Canceled }

func (waitingBody) Close() error { return nil }

func TestAWatchEndsAlsoWhereTheServerDoesNotEndIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		client := newClient(t, kube.Fixed(&rest.Config{Host: "http://api", Transport: endless{}}), 0)
		seconds := int64(60)
		began := time.Now()
		events, err := client.Watch(t.Context(), kube.Leases("n"), metav1.ListOptions{TimeoutSeconds: &seconds})
		if err != nil {
			t.Fatal(err)
		}
		for range events.ResultChan() {
		}
		events.Stop()
		if took := time.Since(began); took != 65*time.Second {
			t.Errorf("got an end after %v, want a little more than the 60 s that were asked for", took)
		}
	})
}

// A credential that expires is replaced by the
// one that the file holds by then, without a restart.
func TestContract37AKubeconfigIsReadAgainWhenItChanges(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const cluster = "server: 'https://api'"
		path := kubeconfig(t, cluster, "token: first-"+canary)
		seen := &tokens{}
		way := access(path)
		way.Wrap = func(http.RoundTripper) http.RoundTripper { return seen }
		client := newClient(t, way, 0)
		ask := func(want string) {
			t.Helper()
			if err := get(t, client); err != nil {
				t.Fatal(err)
			}
			if got := seen.last; got != "Bearer "+want {
				t.Errorf("got %q, want the token %q", got, want)
			}
		}
		ask("first-" + canary)
		next, err := os.ReadFile(kubeconfig(t, cluster, "token: second-"+canary))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("users: ["), 0o600); err != nil { // it is being written
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := client.Refresh(); err == nil || client.Generation() != 1 {
			t.Errorf("got %v and generation %d, want an error and the access that was there", err, client.Generation())
		}
		ask("first-" + canary)
		if err := os.WriteFile(path, next, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		ask("second-" + canary)
		if err := client.Refresh(); err != nil || client.Generation() != 2 {
			t.Errorf("got %v and generation %d, want the second access", err, client.Generation())
		}
	})
}

// slow is a way whose files may hang.
type slow struct {
	kube.Way

	token string
	hang  chan struct{} // closed while they do not
}

func (s *slow) Snapshot() (*rest.Config, func() bool, error) {
	<-s.hang
	config, _, err := s.Way.Snapshot()
	config.BearerToken = s.token
	used := s.token
	return config, func() bool { <-s.hang; return s.token != used }, err
}

// TestContract37AFileSystemThatHangsHoldsUpNoRequest: requests go on with the access
// that was read last.
func TestContract37AFileSystemThatHangsHoldsUpNoRequest(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		seen := &tokens{}
		way := &slow{Way: kube.Fixed(&rest.Config{Host: "http://api", Transport: seen}), token: "first", hang: make(chan struct{})}
		client := newClient(t, way, 0)
		began := time.Now()
		if err := get(t, client); err == nil || !strings.Contains(err.Error(), "may hang") || time.Since(began) > 5*time.Second {
			t.Errorf("got %v after %v, want soon what is wrong", err, time.Since(began))
		}
		close(way.hang)
		synctest.Wait()
		way.hang = make(chan struct{})
		for _, most := range []time.Duration{200 * time.Millisecond, 0, 0} {
			time.Sleep(time.Minute)
			began := time.Now()
			if err := get(t, client); err != nil || seen.last != "Bearer first" || time.Since(began) > most {
				t.Errorf("got %v with %q after %v, want an answer with the first token after at most %v", err, seen.last, time.Since(began), most)
			}
		}
		if err := client.Refresh(); err != nil {
			t.Errorf("got %v, want the client to go on with what it has", err)
		}
		way.token = "second"
		close(way.hang)
		synctest.Wait()
		if err := get(t, client); err != nil || seen.last != "Bearer second" {
			t.Errorf("got %v with %q, want the second token", err, seen.last)
		}
	})
}

// tokens is a server that notes the credentials.
type tokens struct{ last string }

func (s *tokens) RoundTrip(r *http.Request) (*http.Response, error) {
	s.last = r.Header.Get("Authorization")
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	_, _ = recorder.WriteString(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}`)
	response := recorder.Result()
	response.Request = r
	return response, nil
}

func TestNewLeavesTheConfigAlone(t *testing.T) {
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	if err := newClient(t, kube.Fixed(config), 0).Refresh(); err != nil {
		t.Fatal(err)
	}
	if config.Dial != nil || config.GroupVersion != nil || config.UserAgent != "" {
		t.Error("got a changed config, want it as it was")
	}
	if _, err := kube.New(kube.Options{}); err == nil {
		t.Error("got no error without a way, want one")
	}
}
