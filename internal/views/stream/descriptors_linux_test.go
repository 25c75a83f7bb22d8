package stream_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
)

// TestContract180ClientsLeaveDescriptorsForTheRest: clients that only hold connections
// take no descriptor that watches of the API server need, whatever VIEWS_MAX_CLIENTS says.
func TestContract180ClientsLeaveDescriptorsForTheRest(t *testing.T) {
	const limit = 1000
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }()
	server := run(t, stream.Options{
		Address: mustAddress("127.0.0.1:0"), Cache: newCluster(t, "shop").Cache, MostClients: 10_000, MostOfOne: 10_000, Logger: discard(), Stale: current,
	})
	var answered int
	for range limit * 2 / 5 { // a descriptor on either side
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n") // the answer says whether it arrived
		first := make([]byte, len("HTTP/1.1 200"))
		if _, err := conn.Read(first); err == nil && strings.HasSuffix(string(first), fmt.Sprint(http.StatusOK)) {
			answered++
		}
	}
	if answered < limit/4 || answered > limit*3/8 {
		t.Errorf("%d connections are open of %d descriptors, want a quarter, and a few", answered, limit)
	}
}
