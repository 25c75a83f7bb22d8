package assign_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// written is a file that the page has the reader write.
var written = regexp.MustCompile(`(?s)<<'EOF'\n(.*?)EOF\n`)

// TestThePageAboutManyServicesDoesWhatItSays: its documents; test/docs runs its values.
func TestThePageAboutManyServicesDoesWhatItSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/how-to/many-services.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for _, block := range written.FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(block[1], v1alpha1.APIVersion) {
			continue
		}
		for _, d := range documents.Decode("many-services.md", []byte(block[1])) {
			switch {
			case len(d.Mistakes) > 0:
				t.Fatal(d.Mistakes)
			case d.Pool != nil:
				w.in.Pools, w.in.Nodes[d.Pool.Name] = append(w.in.Pools, *d.Pool), 3
			default:
				w.in.Bindings = append(w.in.Bindings, *d.Binding)
			}
		}
	}
	w.in.Services = []assign.Service{service("pay/checkout", 31080)}
	w.after(0).want("pay/checkout london:31080 active").refused()
}
