package envoyconfig_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

func TestThePageOfListenersHasEveryField(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/reference/listeners.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []any{v1alpha1.Listener{}, v1alpha1.Route{}, v1alpha1.ListenerTLS{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(string(page), "| `"+name+"`") && !strings.Contains(string(page), ", `"+name+"` |") {
				t.Errorf("%T: docs/reference/listeners.md has no row for %s", of, name)
			}
		}
	}
}
