package deploy_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// machine is a node of the local cluster. Its kubelet serves only logs.
const machine = "machine"

// serveLogs makes the machine. Its kubelet sends a first line of each container at
// once. If the log is followed, it sends a second line after the signal and then
// keeps the stream open until the client ends it.
func (w *world) serveLogs(t *testing.T, second <-chan struct{}) {
	t.Helper()
	address := netns.Addresses(t, 1)[0]
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		pod := strings.Split(r.URL.Path, "/")[3] // /containerLogs/NAMESPACE/POD/CONTAINER
		fmt.Fprintf(out, "first line of %s\n", pod)
		if r.URL.Query().Get("follow") != "true" {
			return
		}
		_ = http.NewResponseController(out).Flush()
		select {
		case <-second:
			fmt.Fprintf(out, "second line of %s\n", pod)
			_ = http.NewResponseController(out).Flush()
			<-r.Context().Done()
		case <-r.Context().Done():
		}
	}))
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)

	_, port, err := net.SplitHostPort(listener.Addr().String())
	must(t, err)
	number, err := strconv.ParseInt(port, 10, 32)
	must(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine, Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.String()}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	_, err = w.Client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	must(t, err)
}

// logsAreFollowed runs the script until it has printed what each of the two Pods
// wrote after it began, and ends it as Ctrl-C does.
func (w *world) logsAreFollowed(t *testing.T, s *terminal) {
	second := make(chan struct{})
	w.serveLogs(t, second)
	var names []string
	for _, pod := range w.pods(t) {
		names = append(names, pod.Name)
		must(t, w.Client.CoreV1().Pods(namespace).Bind(t.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: machine},
		}, metav1.CreateOptions{}))
	}
	command := s.command(t, block(t, howto, "See that it works"))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var said strings.Builder
	command.Stderr = &said
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	lines := bufio.NewScanner(out)
	expect := func(which string) {
		missing := map[string]bool{}
		for _, pod := range names {
			missing["[pod/"+pod+"/controller] "+which+" line of "+pod] = true
		}
		for len(missing) > 0 {
			if !lines.Scan() {
				t.Fatalf("the script ended without %v: %v\n%s", missing, command.Wait(), said.String())
			}
			delete(missing, lines.Text())
		}
	}
	expect("first")
	close(second)
	expect("second")
	must(t, syscall.Kill(-command.Process.Pid, syscall.SIGINT))
	_ = command.Wait() // by the signal
}
