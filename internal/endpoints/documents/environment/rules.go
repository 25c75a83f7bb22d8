package environment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Load returns the configuration that an environment says. Its pool and its binding are held
// against the rules of documents.
func Load(environ []string) (settings.Config, error) { return settings.Load(environ, Rules) }

// Rules returns the mistakes of the pool and the binding, each with the variable that it is
// about.
func Rules(c settings.Config) []settings.Mistake {
	pool, binding := Documents(c)
	var found []settings.Mistake
	binding.SetDefaults()
	for _, document := range []any{pool, binding} {
		text, err := documents.JSON(document)
		if err != nil {
			return []settings.Mistake{{Variable: "SOURCE_KIND", Rule: "makes no document: " + err.Error(), Remedy: "report it"}}
		}
		for _, d := range documents.Decode("", text) {
			for _, m := range d.Mistakes {
				found = append(found, mistakes(c, m)...)
			}
		}
	}
	tcp := documents.TCPPorts(binding.Spec.Ports)
	ofPorts := func(m settings.Mistake) bool { return m.Variable == "TARGET_PORTS" }
	if mode := c.Health.Mode; mode != "" && mode != settings.HealthOff && c.Health.Port == 0 && c.Target.Port == 0 && len(c.Target.Ports) > 0 && tcp != 1 && !slices.ContainsFunc(found, ofPorts) {
		found = append(found, settings.Mistake{
			Variable: "HEALTH_CHECK_PORT", Rule: fmt.Sprintf("is required, because TARGET_PORTS has %d TCP ports", tcp),
			Remedy: "set it to the TCP port to check, or set HEALTH_CHECK_MODE=off",
		})
	}
	return found
}

// mistakes are none where variables allow more than documents: lists of any length, and
// subnets of any size. What is never published is left out address by address.
func mistakes(c settings.Config, m documents.Mistake) []settings.Mistake {
	switch {
	case m.Field == "spec.source.static.nodes", strings.HasPrefix(m.Field, "spec.source.command.args"), strings.HasPrefix(m.Field, "spec.subnets"):
		return nil
	case m.Value != "" && strings.Contains(m.Field, "["): // one entry of a list
		m.Rule = settings.Quote(m.Value) + " " + m.Rule
	}
	for _, s := range given(c) { // settings demands what is not set
		if field := naming.Field(s.Variable); field != "" && s.Variable != "SOURCE_KIND" && strings.HasPrefix(m.Field, field) {
			return []settings.Mistake{{Variable: s.Variable, Rule: m.Rule, Remedy: m.Remedy}}
		}
	}
	return nil
}
