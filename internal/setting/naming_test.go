package setting_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
)

// Contract 117: a field is named with its document, an annotation is the Service's own.
func TestContract117AFieldIsNamedWithItsDocument(t *testing.T) {
	t.Parallel()
	owner := func(of setting.Setting) string {
		if of.OnlyPool() {
			return "EndpointPool blue"
		}
		return ""
	}
	const text = "3 times in a row (HEALTH_CHECK_FALL=3), HEALTH_CHECK_MODE=off"
	for spelling, want := range map[setting.Spelling]string{
		setting.Variables:   text,
		setting.Fields:      "3 times in a row (EndpointPool blue spec.healthCheck.fall=3), spec.healthCheck.mode=None",
		setting.Annotations: "3 times in a row (EndpointPool blue spec.healthCheck.fall=3), endpoints.ablmnzde.github.io/health-check-mode=None",
	} {
		if got := spelling.Naming(text, owner); got != want {
			t.Errorf("%v: got %q, want %q", spelling, got, want)
		}
	}
	for _, s := range setting.All() {
		if s.OnlyPool() && s.Annotation != "" {
			t.Errorf("%s is only the pool's, and has an annotation", s.Variable)
		}
	}
}
