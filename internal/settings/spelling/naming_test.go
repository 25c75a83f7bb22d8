package spelling_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/spelling"
)

// Contract 117: a setting is named with the object that decided it. An annotation is named
// only where the Service has a check of its own.
func TestContract117ASettingIsNamedWithTheObjectThatDecided(t *testing.T) {
	t.Parallel()
	const text = "HEALTH_CHECK_FALL=3, HEALTH_CHECK_MODE=off, TARGET_ENDPOINTSLICE_NAME"
	const fall, adopt = "EndpointPool blue spec.healthCheck.fall=3, ", ", EndpointBinding shop/web spec.adopt"
	const annotation = "endpoints.ablmnzde.github.io/health-check-mode=None"
	of := func(s spelling.Spelling, by spelling.Kind) spelling.Names {
		return spelling.Names{Spelling: s, Pool: "blue", Target: "shop/web", CheckBy: by}
	}
	for name, c := range map[string]struct {
		names spelling.Names
		want  string
	}{
		"variables":                             {of(spelling.Variables, spelling.Pool), text},
		"a binding, the check of the pool":      {of(spelling.Fields, spelling.Pool), fall + "EndpointPool blue spec.healthCheck.mode=None" + adopt},
		"a binding with a check":                {of(spelling.Fields, spelling.Binding), fall + "EndpointBinding shop/web spec.healthCheck.mode=None" + adopt},
		"annotations, the check of the pool":    {of(spelling.Annotations, spelling.Pool), fall + "EndpointPool blue spec.healthCheck.mode=None" + adopt},
		"annotations with a check":              {of(spelling.Annotations, spelling.Service), fall + "Service shop/web " + annotation + adopt},
		"a binding, it is not known whose":      {of(spelling.Fields, ""), fall + "spec.healthCheck.mode=None" + adopt},
		"annotations, it is not known whose":    {of(spelling.Annotations, ""), fall + "Service shop/web " + annotation + adopt},
		"the pool and the target are not known": {spelling.Names{Spelling: spelling.Annotations, CheckBy: spelling.Service}, "spec.healthCheck.fall=3, " + annotation + ", spec.adopt"},
	} {
		if got := c.names.Of(text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, s := range spelling.All() {
		if s.OnlyPool() && s.Annotation != "" {
			t.Errorf("%s is only the pool's, and has an annotation", s.Variable)
		}
	}
}
