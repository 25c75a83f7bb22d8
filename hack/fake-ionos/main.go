// Command fake-ionos runs a fake of the IONOS Cloud API on this machine. With it
// SOURCE_KIND=ionos can be tried without an account and broken on command.
//
// Input is flags and, at /control, commands as JSON. Output is the API's answers. The
// command keeps everything in memory and contacts no other program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// settings are the flags.
type settings struct {
	listen, datacenter, cluster, token string
	lan, servers                       int
}

func main() {
	var s settings
	flag.StringVar(&s.listen, "listen", "127.0.0.1:8088", "address and port to listen on")
	flag.StringVar(&s.datacenter, "datacenter", "8feda53f-15f0-447f-badf-ebe32dad2fc0", "IONOS_DATACENTER_ID that exists")
	flag.StringVar(&s.cluster, "cluster", "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11", "IONOS_CLUSTER_ID that exists")
	flag.StringVar(&s.token, "token", "", "the one IONOS_TOKEN that is accepted; empty accepts all")
	flag.IntVar(&s.lan, "lan", 2, "IONOS_PRIVATE_LAN_ID that exists")
	flag.IntVar(&s.servers, "servers", 5, "servers, each a node of the cluster, with the addresses 10.0.0.0, 10.0.0.1 and so on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "fake-ionos:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// run serves until ctx ends.
func run(ctx context.Context, s settings) error {
	api := ionostest.New(ionostest.Options{Datacenter: s.datacenter, Cluster: s.cluster, LAN: s.lan})
	api.Populate(s.servers)
	if s.token != "" {
		api.Accept("Bearer " + s.token)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: api.Control(), ReadHeaderTimeout: 10 * time.Second}
	fmt.Printf("SOURCE_KIND=ionos\nIONOS_API_URL=http://%s\nIONOS_TOKEN=%s\nIONOS_DATACENTER_ID=%s\nIONOS_CLUSTER_ID=%s\nIONOS_PRIVATE_LAN_ID=%d\n",
		listener.Addr(), orAny(s.token), s.datacenter, s.cluster, s.lan)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		_ = server.Close() // stalled answers have no end to wait for
		err = <-served
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func orAny(token string) string {
	if token == "" {
		return "any"
	}
	return token
}
