package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

// mostSimilar is how many names are proposed.
const mostSimilar = 10

// similar returns the names and addresses that are most similar to an unknown
// subject, the most similar first; if none is similar, the first ones.
func similar(nodes []report.Node, subject string) []string {
	type proposal struct {
		name     string
		distance int
	}
	seen := make(map[string]bool)
	var all []proposal
	for _, n := range nodes {
		for _, name := range []string{n.Name, n.Address} {
			if name == "" || seen[name] {
				continue
			}
			seen[name] = true
			all = append(all, proposal{name, levenshtein.ComputeDistance(strings.ToLower(subject), strings.ToLower(name))})
		}
	}
	slices.SortStableFunc(all, func(a, b proposal) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, p := range all[:min(len(all), mostSimilar)] {
		names = append(names, p.name)
	}
	return names
}
