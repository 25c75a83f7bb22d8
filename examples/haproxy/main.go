// Command haproxy keeps backends of HAProxy equal to the endpoints of Services, over
// HAProxy's runtime socket. It is an example of what to do with pkg/views.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// settings are what the flags say.
type settings struct {
	servers, tokenFile, caFile string
	backends                   backends
	care                       care
}

func main() {
	s := settings{backends: backends{}}
	flag.StringVar(&s.servers, "server", "http://127.0.0.1:8082", "URLs of endpoint-views, separated by commas")
	flag.StringVar(&s.tokenFile, "token-file", "", "file with the token for endpoint-views, read again for each request")
	flag.StringVar(&s.caFile, "ca-file", "", "file with the authority of endpoint-views' certificate; the system's when empty")
	flag.StringVar(&s.care.socket.path, "socket", "/run/haproxy/admin.sock", "HAProxy's runtime socket, of level admin")
	flag.StringVar(&s.care.options, "options", "", `what each server gets beside its address, such as "check inter 2s maxconn 100"`)
	flag.DurationVar(&s.care.grace, "grace", 30*time.Second, "how long the requests under way at an endpoint that is gone may last; then they are ended")
	flag.DurationVar(&s.care.interval, "interval", 200*time.Millisecond, "time between two looks at HAProxy, which find a restart or a change by hand")
	flag.Var(s.backends, "route", "NAMESPACE/SERVICE:PORT=BACKEND, with the name of the Service's port, empty if it has none; may be repeated")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	client, err := s.client()
	if err != nil {
		stop()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	err = run(ctx, client, s.backends, s.care)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run follows the views, and keeps each backend right. HAProxy stays as it is in the
// end.
func run(ctx context.Context, client *views.Client, all backends, how care) error {
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer cancel()
	for _, b := range all {
		b.care = how
		keeping.Go(func() { b.run(ctx) })
	}
	return client.WatchPorts(ctx, all.take)
}

// client is told of the namespaces that the routes name.
func (s *settings) client() (*views.Client, error) {
	if len(s.backends) == 0 {
		return nil, errors.New("-route is missing; write for example -route shop/web:http=web")
	}
	if s.care.interval <= 0 || s.care.grace < 0 {
		return nil, errors.New("-interval has to be more than 0 and -grace not less; leave both out for 200ms and 30s")
	}
	if strings.ContainsAny(s.care.options, ";\n") {
		return nil, errors.New(`-options holds the end of a command; write what follows the address on a server's line, such as "check inter 2s"`)
	}
	options := views.Options{Servers: strings.Split(s.servers, ","), Namespaces: s.backends.namespaces(), OnError: func(err error) {
		fmt.Fprintln(os.Stderr, untouched, err)
	}}
	if s.tokenFile != "" {
		options.Token = func() (string, error) {
			text, err := os.ReadFile(s.tokenFile)
			return strings.TrimSpace(string(text)), err
		}
	}
	if s.caFile != "" {
		text, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, fmt.Errorf("-ca-file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("-ca-file: %s holds no certificate in PEM", s.caFile)
		}
		options.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	}
	return views.New(options)
}
