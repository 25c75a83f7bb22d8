package publish_test

import (
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func TestWhatPublishesBesideOursIsNamedWithTheSafeRemedy(t *testing.T) {
	tests := []struct {
		name, manager string
		want          []string
	}{
		{"mirrored", "endpointslicemirroring-controller.k8s.io", []string{
			"slice default/web-x7f2k", "the Endpoints object web", "kubectl -n default label endpoints web endpointslice.kubernetes.io/skip-mirror=true", "only after that",
		}},
		{"another controller", "somebody", []string{`managed by "somebody"`, "stop that from managing slices of this Service"}},
		{"ours under another name", target().ManagedBy, []string{"set another TARGET_MANAGED_BY there", "no other instance", "TARGET_ENDPOINTSLICE_NAME", "delete it"}},
		{"by hand", "", []string{"no label endpointslice.kubernetes.io/managed-by", "delete it"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := object()
			o.Name = "web-x7f2k"
			o.Labels[discoveryv1.LabelManagedBy] = test.manager
			if test.manager == "" {
				delete(o.Labels, discoveryv1.LabelManagedBy)
			}
			all := beside(publish.Service{}, o)
			if len(all) != 1 {
				t.Fatalf("got %+v, want one", all)
			}
			got := all[0]
			if got.Name != o.Name || got.Manager != test.manager || got.Endpoints != len(o.Endpoints) {
				t.Errorf("got %+v, want %s of %q with %d endpoints", got, o.Name, test.manager, len(o.Endpoints))
			}
			// Nothing may be taken away before our own slices hold what is needed.
			ours := strings.Index(got.Message, "once the slices of this daemon hold the ready endpoints")
			for _, want := range append(test.want, "without health checks") {
				if !strings.Contains(got.Message, want) {
					t.Errorf("got %q, want it to say %q", got.Message, want)
				}
			}
			for _, act := range []string{"label endpoints web", "delete ", "leave this Service"} {
				if at := strings.Index(got.Message, act); ours < 0 || at >= 0 && at < ours {
					t.Errorf("got %q, want what to wait for before %q", got.Message, act)
				}
			}
		})
	}
}

func TestWhatIsOursOrPublishesNothingIsNotBeside(t *testing.T) {
	for name, change := range map[string]func(*discoveryv1.EndpointSlice){
		"ours by name":       func(o *discoveryv1.EndpointSlice) { o.Name = "web-remote-2" },
		"of another Service": func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelServiceName] = "shop" },
		"of no Service":      func(o *discoveryv1.EndpointSlice) { o.Labels = nil },
		"empty":              func(o *discoveryv1.EndpointSlice) { o.Endpoints = nil },
	} {
		o := object()
		o.Name = "web-x7f2k"
		change(o)
		if got := beside(publish.Service{}, o); len(got) != 0 {
			t.Errorf("%s: got %+v, want none", name, got)
		}
	}
}

func TestWhatIsBesideIsSorted(t *testing.T) {
	var found []*discoveryv1.EndpointSlice
	for _, name := range []string{"c", "a", "b"} {
		o := object()
		o.Name = name
		found = append(found, o)
	}
	got := beside(publish.Service{}, found...)
	if len(got) != 3 || got[0].Name != "a" || got[1].Name != "b" || got[2].Name != "c" || found[0].Name != "c" {
		t.Errorf("got %v, want them by name and the input left alone", got)
	}
	if got := beside(publish.Service{HasSelector: true}, found...); len(got) != 0 {
		t.Errorf("got %v beside the slices of a Service with a selector, want none", got)
	}
}

// beside returns what the objects publish beside the slices of the target.
func beside(service publish.Service, objects ...*discoveryv1.EndpointSlice) []publish.ForeignSlice {
	return publish.StateOf(service, objects, target()).Beside
}
