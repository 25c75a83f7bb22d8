package naming_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Contract 117: a setting is named with the object that decided it. An annotation is named
// only where the Service has a check of its own.
func TestContract117ASettingIsNamedWithTheObjectThatDecided(t *testing.T) {
	t.Parallel()
	const text = "HEALTH_CHECK_FALL=3, HEALTH_CHECK_MODE=off, TARGET_ENDPOINTSLICE_NAME"
	const fall, adopt = "EndpointPool blue spec.healthCheck.fall=3, ", ", EndpointBinding shop/web spec.adopt"
	const annotation = "endpoints.ablmnzde.github.io/health-check-mode=None"
	of := func(s naming.Spelling, by naming.Kind) naming.Names {
		return naming.Names{Spelling: s, Pool: "blue", Target: "shop/web", CheckBy: by}
	}
	for name, c := range map[string]struct {
		names naming.Names
		want  string
	}{
		"variables":                             {of(naming.Variables, naming.Pool), text},
		"a binding, the check of the pool":      {of(naming.Fields, naming.Pool), fall + "EndpointPool blue spec.healthCheck.mode=None" + adopt},
		"a binding with a check":                {of(naming.Fields, naming.Binding), fall + "EndpointBinding shop/web spec.healthCheck.mode=None" + adopt},
		"annotations, the check of the pool":    {of(naming.Annotations, naming.Pool), fall + "EndpointPool blue spec.healthCheck.mode=None" + adopt},
		"annotations with a check":              {of(naming.Annotations, naming.Service), fall + "Service shop/web " + annotation + adopt},
		"a binding, it is not known whose":      {of(naming.Fields, ""), fall + "spec.healthCheck.mode=None" + adopt},
		"annotations, it is not known whose":    {of(naming.Annotations, ""), fall + "Service shop/web " + annotation + adopt},
		"the pool and the target are not known": {naming.Names{Spelling: naming.Annotations, CheckBy: naming.Service}, "spec.healthCheck.fall=3, " + annotation + ", spec.adopt"},
	} {
		if got := c.names.Of(text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, s := range naming.All() {
		if s.Kind != "" && s.Annotation != "" {
			t.Errorf("%s is only the binding's, and has an annotation", s.Variable)
		}
	}
}
