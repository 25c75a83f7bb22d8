package xds_test

import (
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// TestContract180StreamsLeaveDescriptorsForTheRest, whatever XDS_MAX_CLIENTS says.
func TestContract180StreamsLeaveDescriptorsForTheRest(t *testing.T) {
	const limit = 200
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }()
	s := start(t, twoServices(t), func(o *xds.Options) { o.MostClients, o.MostOfOne = 10_000, 10_000 })
	for range limit / 4 {
		p := connect(t, s, "a", "shop/edge", nil)
		p.ask(clusters)
		p.next()
	}
	more := connect(t, s, "a", "shop/edge", nil)
	more.ask(clusters)
	if err := more.ends(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "XDS_MAX_CLIENTS") {
		t.Errorf("got %v, want no more streams than a quarter of the descriptors", err)
	}
}
