package kube_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

// mirror is what a reflector has told so far.
type mirror struct {
	mu     sync.Mutex
	values map[string]string
}

// Add implements cache.ReflectorStore.
func (m *mirror) Add(told any) error { return m.Update(told) }

// Update implements cache.ReflectorStore.
func (m *mirror) Update(told any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[told.(*corev1.Service).Name] = told.(*corev1.Service).Spec.Ports[0].Name
	return nil
}

// Delete implements cache.ReflectorStore.
func (m *mirror) Delete(told any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, told.(*corev1.Service).Name)
	return nil
}

// Replace implements cache.ReflectorStore.
func (m *mirror) Replace(told []any, _ string) error {
	m.mu.Lock()
	clear(m.values)
	m.mu.Unlock()
	for _, each := range told {
		_ = m.Update(each)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (m *mirror) Resync() error { return nil }

// UpdateResourceVersion has nothing to do.
func (m *mirror) UpdateResourceVersion(string) {}

// Transformer keeps objects as they are.
func (m *mirror) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return object, nil }
}

// want waits until that is what was told.
func (m *mirror) want(t *testing.T, want map[string]string) {
	t.Helper()
	until(t, func() string {
		m.mu.Lock()
		defer m.mu.Unlock()
		if maps.Equal(m.values, want) {
			return ""
		}
		return fmt.Sprintf("got %v, want %v", m.values, want)
	})
}

// until waits until nothing is to complain about.
func until(t *testing.T, complaint func() string) {
	t.Helper()
	text := ""
	poll.Until(t, 90*time.Second, func() bool { text = complaint(); return text == "" }, func() string { return text })
}

// reflected mirrors the Services of the namespace default.
func reflected(t *testing.T, config *rest.Config) *mirror {
	t.Helper()
	m := &mirror{values: map[string]string{}}
	reflector := &kube.Reflector{
		Client: newClient(t, kube.Fixed(config), 0), What: "Services", Resource: kube.Services("default"), Store: m,
		Object: &corev1.Service{},
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { reflector.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return m
}

// gate is the way to a server. It lets connections end and be refused in an order that a
// server which is killed does not promise.
type gate struct {
	refuses atomic.Bool
	refused atomic.Int64
	mu      sync.Mutex
	open    []net.Conn
}

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if g.refuses.Load() {
		g.refused.Add(1)
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open = append(g.open, conn)
	}
	return conn, err
}

// close ends every connection, and returns after a new one was refused.
func (g *gate) close(t *testing.T) {
	t.Helper()
	g.refuses.Store(true)
	g.mu.Lock()
	for _, conn := range g.open {
		_ = conn.Close()
	}
	g.open = nil
	g.mu.Unlock()
	before := g.refused.Load()
	until(t, func() string {
		if g.refused.Load() > before {
			return ""
		}
		return "no connection was tried"
	})
}

// Contract 113: a server that comes back from a backup has lower revisions than a watch
// has seen, and tells a watch from there on nothing until it has reached them again.
func TestContract113AfterABackupAWatchTellsWhatTheServerHas(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Options{})
	api := kubernetes.NewForConfigOrDie(cp.Config()).CoreV1().Services("default")
	var g gate
	config := cp.Config()
	config.Dial = g.dial
	m := reflected(t, config)
	put := func(name, value string) {
		t.Helper()
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80, Name: value}}},
		}
		until(t, func() string {
			_, err := api.Update(t.Context(), service, metav1.UpdateOptions{})
			if err != nil {
				_, err = api.Create(t.Context(), service, metav1.CreateOptions{})
			}
			if err != nil {
				return err.Error()
			}
			return ""
		})
	}
	put("changed", "old")
	m.want(t, map[string]string{"kubernetes": "https", "changed": "old"})
	cp.Backup()
	put("new", "")
	for i := range 300 { // the revisions are well ahead then
		put("changed", fmt.Sprint(i))
	}
	m.want(t, map[string]string{"kubernetes": "https", "changed": "299", "new": ""})
	g.close(t)
	cp.Restore()
	g.refuses.Store(false)
	m.want(t, map[string]string{"kubernetes": "https", "changed": "old"})
	put("after", "it")
	m.want(t, map[string]string{"kubernetes": "https", "changed": "old", "after": "it"})
}

// Contract 113: a large list is asked for again only where the server was away.
func TestContract113ACutConnectionCostsNoList(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		if query.Has("sendInitialEvents") { // an old server, so that each list is one request
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
			return
		}
		from, what := query.Get("resourceVersion"), "list"
		if query.Has("watch") {
			what = "watch from " + from
		}
		mu.Lock()
		asked = append(asked, what)
		mu.Unlock()
		if what == "list" {
			fmt.Fprint(w, `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
			return
		}
		fmt.Fprintf(w, `{"type":"ADDED","object":{"kind":"Service","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"%s0"},"spec":{"ports":[{"name":%q}]}}}`+"\n", from, from)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	var g gate
	m := reflected(t, &rest.Config{Host: server.URL, Dial: g.dial})
	m.want(t, map[string]string{"a": "1"})
	server.CloseClientConnections()
	m.want(t, map[string]string{"a": "10"})
	g.close(t)
	g.refuses.Store(false)
	m.want(t, map[string]string{"a": "1"})
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"list", "watch from 1", "watch from 10", "list", "watch from 1"}; !slices.Equal(asked, want) {
		t.Errorf("got requests %q, want %q", asked, want)
	}
}
