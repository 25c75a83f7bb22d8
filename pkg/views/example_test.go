package views_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// upstream makes a proxy right for one port of a Service; here it prints.
type upstream struct{ done context.CancelFunc }

// Reconcile is given every endpoint of the port, each time anything about it changed.
func (u upstream) Reconcile(_ context.Context, port views.PortKey, endpoints []views.Endpoint) error {
	fmt.Printf("%s/%s %s\n", port.Namespace, port.Service, port.Port)
	for _, e := range endpoints {
		fmt.Printf("  %s:%d %s\n", e.Address, e.TargetPort, e.State)
	}
	u.done()
	return nil
}

func ExampleClient_Run() {
	client, err := views.New(views.Options{
		Servers:    []string{exampleServer()}, // such as http://127.0.0.1:8082
		Namespaces: []string{"shop"},
		OnError:    func(err error) { log.Print(err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	_ = client.Run(ctx, upstream{done})
	// Output:
	// shop/web http
	//   10.0.0.1:8080 ready
	//   10.0.0.2:8080 draining
}

// exampleServer is a server of two endpoints, for as long as the test runs.
func exampleServer() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, text := range []string{line(views.Added, "10.0.0.1", "ready", "1.1"), line(views.Added, "10.0.0.2", "draining", "1.1"), mark("1.1")} {
			fmt.Fprintln(w, text)
		}
		_ = http.NewResponseController(w).Flush() // a test server's can
		<-r.Context().Done()
	}))
	return server.URL
}
