package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// The orders of a backend, and its answer after each.
const (
	listening  = "listening"
	failChecks = "fail"
	passChecks = "pass"
)

// serve is a backend: it answers every request with 200, or with 500 after the order
// to fail. It is a process of its own, so it can really be killed. It ends when its
// orders end, so it cannot outlive the demo.
func serve(address string, orders io.Reader, answers io.Writer) error {
	listener, err := net.Listen("tcp", address) //nolint:noctx // it listens at once or not at all
	if err != nil {
		return err
	}
	var failing atomic.Bool
	server := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if failing.Load() {
				http.Error(w, "told to fail", http.StatusInternalServerError)
				return
			}
			fmt.Fprintln(w, "hello from", address)
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it only ends with Close
	defer serving.Wait()
	defer server.Close() //nolint:errcheck // there is nothing left to lose
	fmt.Fprintln(answers, listening)
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		failing.Store(lines.Text() == failChecks)
		fmt.Fprintln(answers, lines.Text())
	}
	return lines.Err()
}
