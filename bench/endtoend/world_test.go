package endtoend_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const (
	// subnet holds the addresses of all nodes.
	subnet    = "10.64.0.0/12"
	namespace = "default"
	service   = "web"
	port      = 8080
)

// world is two clusters: one with the nodes, one with the Service.
type world struct {
	t             *testing.T
	form          form
	remote, local *controlplane.ControlPlane
	nodes, slices kubernetes.Interface
	watched       *sliceWatch
	// nodeCount is how many nodes there are; they are numbered from 0.
	nodeCount int
	// beats is how many heartbeats were sent.
	beats atomic.Int64
	// daemon and bare are the programs.
	daemon, bare string
}

func newWorld(t *testing.T, f form) *world {
	t.Helper()
	w := &world{t: t, form: f, daemon: program.Build(t, "../..", "./cmd/ionos-endpointslice-controller"), bare: program.Build(t, "..", "./bare")}
	program.Progress("the programs are built")
	w.remote = controlplane.Start(t, controlplane.Options{Audit: true})
	w.local = controlplane.Start(t, controlplane.Options{Audit: true})
	w.nodes, w.slices = clientset(t, w.remote.Config()), clientset(t, w.local.Config())
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if _, err := w.slices.CoreV1().Services(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.watched = watch(t, w.local.Config())
	answer(t)
	program.Progress("two API servers run")
	return w
}

// clientset speaks protobuf, to leave more of the machine to what is measured.
func clientset(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// answer is the backend of every node: it takes connections and closes them.
func answer(t *testing.T) {
	t.Helper()
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // closed
			}
			_ = connection.Close()
		}
	}()
}

// counts are requests in a stretch of time.
type counts struct {
	// reads are get and list; opened watches are counted apart. writes leave out
	// leases and Events.
	reads, watches, writes, leases, events int
}

func (c counts) all() int { return c.reads + c.watches + c.writes + c.leases + c.events }

// requests counts what one user asked an API server for.
func requests(cp *controlplane.ControlPlane, user string, from, to time.Time) counts {
	var c counts
	for _, e := range cp.Audit() {
		if e.User != user || e.Received.Before(from) || e.Received.After(to) {
			continue
		}
		switch {
		case e.Resource == "leases":
			c.leases++
		case e.Resource == "events":
			c.events++
		case e.Verb == "watch" || strings.Contains(e.Path, "watch=true"):
			c.watches++
		case e.Writes():
			c.writes++
		default:
			c.reads++
		}
	}
	return c
}
