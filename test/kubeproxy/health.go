package kubeproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// healthz is where kube-proxy says how it is, in its own namespace.
const healthz = "http://127.0.0.1:10256/healthz"

// health is the part of the answer that matters here. A family is missing
// until its rules were written for the first time.
type health struct {
	Status map[corev1.IPFamily]struct {
		LastUpdated time.Time `json:"lastUpdated"`
	} `json:"status"`
}

// askHealth asks the kube-proxy of a namespace.
func askHealth(ctx context.Context, namespace string) (health, error) {
	client := http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dial(ctx, namespace, network, address)
		}},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, healthz, nil)
	if err != nil {
		return health{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return health{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return health{}, fmt.Errorf("GET %s: %s", healthz, response.Status)
	}
	var answer health
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return health{}, fmt.Errorf("GET %s: %w", healthz, err)
	}
	return answer, nil
}

// dial connects from inside a namespace: a socket belongs to the namespace of
// the thread that made it.
func dial(ctx context.Context, namespace, network, address string) (net.Conn, error) {
	type result struct {
		connection net.Conn
		err        error
	}
	dialled := make(chan result, 1)
	go func() {
		// Never unlocked, so the thread ends with the goroutine and carries the
		// namespace nowhere else.
		runtime.LockOSThread()
		if err := enter(namespace); err != nil {
			dialled <- result{err: err}
			return
		}
		var dialer net.Dialer
		connection, err := dialer.DialContext(ctx, network, address)
		dialled <- result{connection, err}
	}()
	got := <-dialled
	return got.connection, got.err
}

// enter moves the calling thread into a namespace.
func enter(namespace string) error {
	file, err := os.Open(filepath.Join("/run/netns", namespace))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", namespace, err)
	}
	return nil
}
