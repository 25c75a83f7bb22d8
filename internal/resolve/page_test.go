package resolve_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestThePageAboutManyServicesDoesWhatItSays: three teams and two clusters.
func TestThePageAboutManyServicesDoesWhatItSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/many-services.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
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
	w.in.Services = []resolve.Service{
		service("blog/web", 30081, v1alpha1.AnnotationPool, "berlin"), service("pay/checkout", 31080), service("shop/web", 30080),
	}
	w.after(0).want("blog/web berlin:30081 Active", "pay/checkout berlin:31080 Active", "pay/checkout london:31080 Active", "shop/web berlin:30080 Active").refused()
}
