package setting_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
)

// Contract 117: a setting is named with the object that decided it. An annotation is named
// only where the Service has a check of its own.
func TestContract117ASettingIsNamedWithTheObjectThatDecided(t *testing.T) {
	t.Parallel()
	const text = "HEALTH_CHECK_FALL=3, HEALTH_CHECK_MODE=off, TARGET_ENDPOINTSLICE_NAME"
	const fall, adopt = "EndpointPool blue spec.healthCheck.fall=3, ", ", EndpointBinding shop/web spec.adopt"
	const annotation = "endpoints.ablmnzde.github.io/health-check-mode=None"
	of := func(s setting.Spelling, by setting.Kind) setting.Names {
		return setting.Names{Spelling: s, Pool: "blue", Target: "shop/web", CheckBy: by}
	}
	for name, c := range map[string]struct {
		names setting.Names
		want  string
	}{
		"variables":                             {of(setting.Variables, setting.Pool), text},
		"a binding, the check of the pool":      {of(setting.Fields, setting.Pool), fall + "EndpointPool blue spec.healthCheck.mode=None" + adopt},
		"a binding with a check":                {of(setting.Fields, setting.Binding), fall + "EndpointBinding shop/web spec.healthCheck.mode=None" + adopt},
		"annotations, the check of the pool":    {of(setting.Annotations, setting.Pool), fall + "EndpointPool blue spec.healthCheck.mode=None" + adopt},
		"annotations with a check":              {of(setting.Annotations, setting.Service), fall + "Service shop/web " + annotation + adopt},
		"a binding, it is not known whose":      {of(setting.Fields, ""), fall + "spec.healthCheck.mode=None" + adopt},
		"annotations, it is not known whose":    {of(setting.Annotations, ""), fall + "Service shop/web " + annotation + adopt},
		"the pool and the target are not known": {setting.Names{Spelling: setting.Annotations, CheckBy: setting.Service}, "spec.healthCheck.fall=3, " + annotation + ", spec.adopt"},
	} {
		if got := c.names.Of(text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, s := range setting.All() {
		if s.OnlyPool() && s.Annotation != "" {
			t.Errorf("%s is only the pool's, and has an annotation", s.Variable)
		}
	}
}
