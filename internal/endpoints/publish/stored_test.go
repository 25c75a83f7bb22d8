package publish_test

import (
	"errors"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func TestContract171AnAnswerThatDiffersInWhatIsOursNamesTheDifference(t *testing.T) {
	write := update(slice())
	for name, test := range map[string]struct {
		change func(*discoveryv1.EndpointSlice)
		want   string
	}{
		"nothing":              {func(*discoveryv1.EndpointSlice) {}, ""},
		"what is of others":    {func(o *discoveryv1.EndpointSlice) { o.Labels["team"], o.ResourceVersion = "edge", "9" }, ""},
		"a condition":          {func(o *discoveryv1.EndpointSlice) { o.Endpoints[0].Conditions.Ready = new(false) }, "the conditions of 10.0.0.2 are"},
		"a whole state":        {func(o *discoveryv1.EndpointSlice) { o.Endpoints[0].Conditions = o.Endpoints[2].Conditions }, "endpoint 10.0.0.2 is down, not ready"},
		"an endpoint":          {func(o *discoveryv1.EndpointSlice) { o.Endpoints = o.Endpoints[1:] }, "endpoint 10.0.0.2 is absent, not ready"},
		"a zone":               {func(o *discoveryv1.EndpointSlice) { o.Endpoints[0].Zone = new("x") }, "the zone of an endpoint"},
		"an appProtocol":       {func(o *discoveryv1.EndpointSlice) { o.Ports[0].AppProtocol = new("h2c") }, `the ports are ["http" 8080/TCP h2c], not ["http" 8080/TCP]`},
		"the Service's label":  {func(o *discoveryv1.EndpointSlice) { delete(o.Labels, discoveryv1.LabelServiceName) }, "label kubernetes.io/service-name"},
		"the managed-by label": {func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelManagedBy] = "x" }, `is managed by "x"`},
		"the owner":            {func(o *discoveryv1.EndpointSlice) { o.OwnerReferences[0].UID = "x" }, `names the UID "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := publish.Apply(nil, write, target())
			test.change(answer)
			err := publish.Stored(answer, write, target())
			if test.want == "" {
				if err != nil {
					t.Errorf("got %v, want nothing", err)
				}
				return
			}
			if !errors.Is(err, publish.ErrStoredOtherwise) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "look for an admission policy or a webhook") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
