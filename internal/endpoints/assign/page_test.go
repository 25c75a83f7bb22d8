package assign_test

import (
	"os"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// TestTheExampleOfDocumentsFillsItsService: the file that the page about pools and bindings has
// the reader copy; test/docs runs the values of that page.
func TestTheExampleOfDocumentsFillsItsService(t *testing.T) {
	t.Parallel()
	const path = "../../../deploy/documents/documents.example.yaml"
	example, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for _, d := range documents.Decode(path, example) {
		switch {
		case len(d.Mistakes) > 0:
			t.Fatal(d.Mistakes)
		case d.Pool != nil:
			w.in.Pools, w.in.Nodes[d.Pool.Name] = append(w.in.Pools, *d.Pool), 3
		default:
			w.in.Bindings = append(w.in.Bindings, *d.Binding)
		}
	}
	w.in.Services = []assign.Service{service("pay/checkout", 31080)}
	w.after(0).want("pay/checkout london:31080 active").refused()
}
