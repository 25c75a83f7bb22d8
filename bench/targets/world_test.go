package targets_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const (
	// longest bounds every wait.
	longest = 5 * time.Minute
	port    = 8080
	// perNamespace is how many Services a namespace has.
	perNamespace = 50
	// writers write at the same time, as many as the daemon's.
	writers = 8
)

// world is an API server, the nodes and the programs.
type world struct {
	t       *testing.T
	form    form
	api     *controlplane.ControlPlane
	client  kubernetes.Interface
	watched *sliceWatch
	nodes   *nodes
	// daemon and writers are the programs.
	daemon, writers string
}

func newWorld(t *testing.T, f form) *world {
	t.Helper()
	w := &world{t: t, form: f, daemon: program.Build(t, "../..", "./cmd/ionos-endpointslice-controller"), writers: program.Build(t, "..", "./writers")}
	program.Progress("the programs are built")
	w.api = controlplane.Start(t, controlplane.Options{Audit: true})
	config := w.api.Config()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	var err error
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	w.watched = watch(t, w.client)
	w.nodes = &nodes{t: t}
	program.Progress("the API server runs")
	return w
}

// label names a benchmark of a side.
func label(what string, s shape, side string) string {
	return fmt.Sprintf("Targets%s/targets=%d/endpoints=%d/side=%s", what, s.targets, s.endpoints, side)
}

// group is the part of the API server that one side fills, at one shape.
type group struct {
	shape
	side string
	// spread is how many Services a namespace has.
	spread int
}

// String is what the names of its namespaces begin with.
func (g group) String() string { return g.side + "-" + g.shape.String() }

func (g group) namespace(target int) string { return fmt.Sprintf("%s-%d", g, target/g.spread) }

// namespaces are all of them, in order.
func (g group) namespaces() []string {
	var all []string
	for i := 0; i < g.targets; i += g.spread {
		all = append(all, g.namespace(i))
	}
	return all
}

// make creates the namespaces of a group.
func (w *world) make(g group) {
	w.t.Helper()
	names := g.namespaces()
	w.each(len(names), func(i int) error {
		_, err := w.client.CoreV1().Namespaces().Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}, metav1.CreateOptions{})
		return err
	})
}

// services creates the Services of a group.
func (w *world) services(g group, annotations, selector map[string]string) {
	w.t.Helper()
	w.each(g.targets, func(i int) error {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Annotations: annotations}, Spec: corev1.ServiceSpec{
			Selector: selector, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(port)}},
		}}
		_, err := w.client.CoreV1().Services(g.namespace(i)).Create(w.t.Context(), service, metav1.CreateOptions{})
		return err
	})
}

// each does something so many times, a few at a time.
func (w *world) each(count int, do func(i int) error) {
	w.t.Helper()
	var next atomic.Int64
	var doing sync.WaitGroup
	for range writers {
		doing.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					w.t.Error(err)
				}
			}
		})
	}
	doing.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// counts are requests in a stretch of time.
type counts struct {
	// reads are get and list; opened watches are counted apart. writes are those of
	// slices, statuses those of documents.
	reads, watches, writes, statuses, events int
}

// requests counts what a user asked the API server for.
func (w *world) requests(user string, from, to time.Time) counts {
	w.t.Helper()
	var c counts
	for _, e := range w.api.Audit() {
		if e.User != user || e.Received.Before(from) || e.Received.After(to) {
			continue
		}
		switch {
		case e.Resource == "events":
			c.events++
		case e.Verb == "watch" || strings.Contains(e.Path, "watch=true"):
			c.watches++
		case e.Subresource == "status":
			c.statuses++
		case e.Writes():
			c.writes++
		default:
			c.reads++
		}
	}
	return c
}
