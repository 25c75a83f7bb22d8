package health_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestNewNamesEveryMistake(t *testing.T) {
	good := health.Options{Mode: health.HTTP, Port: 80, Timeout: time.Second}
	tests := []struct {
		name   string
		change func(*health.Options)
		want   []string
	}{
		{"nothing wrong", func(*health.Options) {}, nil},
		{"all of it", func(o *health.Options) {
			*o = health.Options{Mode: "udp", Path: "x", Host: "a/b"}
		}, []string{`mode "udp"`, "no port", "time-out 0s", `path "x"`, `host "a/b"`}},
		{"a second header in the path", func(o *health.Options) { o.Path = "/ HTTP/1.1\r\nX: y" }, []string{"path"}},
		{"a space in the path", func(o *health.Options) { o.Path = "/a b" }, []string{"path"}},
		{"a fragment", func(o *health.Options) { o.Path = "/a#b" }, []string{"path"}},
		{"a whole URL", func(o *health.Options) { o.Path = "http://example.com/" }, []string{"path"}},
		{"a path with a query", func(o *health.Options) { o.Path = "/a?b=c&d=%20" }, nil},
		{"a user in the host", func(o *health.Options) { o.Host = "me@example.com" }, []string{"host"}},
		{"a second header in the host", func(o *health.Options) { o.Host = "a\r\nX: y" }, []string{"host"}},
		{"a host with a port", func(o *health.Options) { o.Host = "example.com:8080" }, nil},
		{"an IPv6 host", func(o *health.Options) { o.Host = "[fd00::1]:8080" }, nil},
		{"a negative time-out", func(o *health.Options) { o.Timeout = -1 }, []string{"time-out -1ns"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			options := good
			test.change(&options)
			_, err := health.New(options)
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("got error %v, want mistakes %q", err, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestNewLoopNamesTheMistake(t *testing.T) {
	check := func(context.Context, netip.Addr) inventory.Result { return inventory.Result{} }
	tests := []struct {
		options health.LoopOptions
		slots   int
		want    string
	}{
		{health.LoopOptions{Interval: time.Second}, 0, "no check"},
		{health.LoopOptions{Check: check}, 0, "interval 0s"},
		{health.LoopOptions{Check: check, Interval: time.Second, FastInterval: -1}, 0, "fast interval -1ns"},
		{health.LoopOptions{Check: check, Interval: time.Second}, -1, "concurrency -1"},
		{health.LoopOptions{Check: check, Interval: time.Second, Gather: -1}, 0, "gather time -1ns"},
	}
	for _, test := range tests {
		if _, err := health.NewLoop(test.options, test.slots); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got error %v, want %q in it", err, test.want)
		}
	}
}
