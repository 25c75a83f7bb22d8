//go:build lab

package conformance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
)

// requestTimeout is far more than a request needs; one that takes it hangs.
const requestTimeout = 20 * time.Second

// firstPort is above the ports that kube-proxy itself listens on.
const firstPort = 20000

// proxy asks through the rules that a kube-proxy makes in a namespace.
type proxy struct {
	namespace string
	// port is the source port of the next connection. Each has its own: one that
	// is used again can meet what connection tracking remembers of the last time.
	port int
}

func startProxy(t *testing.T, w *world, mode kubeproxy.Mode, number byte) *proxy {
	t.Helper()
	name := string(mode)
	addresses := addClient(t, name, number)
	kubeproxy.Start(t, w.cp, kubeproxy.Options{Namespace: name, Addresses: addresses, Mode: mode})
	return &proxy{namespace: name, port: firstPort}
}

// ask sends requests one after the other, each on a connection of its own.
func (p *proxy) ask(t *testing.T, x *target, family string, n int) answers {
	t.Helper()
	got := newAnswers()
	err := inside(p.namespace, func() {
		for range n {
			p.port++
			name, err := fetch(t.Context(), p.port, net.JoinHostPort(x.clusterIP[family], "80"))
			switch {
			case err == nil:
				got.by[name]++
			case errors.Is(err, syscall.ECONNREFUSED):
				got.failures["connection refused"]++
			default:
				got.failures[err.Error()]++
				return // a hang: more requests would show the same
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// inside runs f on a thread in a namespace.
func inside(namespace string, f func()) error {
	done := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and carries the
		// namespace nowhere else.
		runtime.LockOSThread()
		file, err := os.Open(filepath.Join("/run/netns", namespace))
		if err != nil {
			done <- err
			return
		}
		defer file.Close()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter namespace %s: %w", namespace, err)
			return
		}
		f()
		done <- nil
	}()
	return <-done
}

// fetch returns what the server at an address answers: its address.
func fetch(ctx context.Context, from int, address string) (string, error) {
	dialer := net.Dialer{Timeout: requestTimeout, LocalAddr: &net.TCPAddr{Port: from}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(connection, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return "", err
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
