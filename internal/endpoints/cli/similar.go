package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// mostSimilar is how many names are proposed.
const mostSimilar = 10

// similar returns the names and addresses that are most similar to an unknown
// subject, the most similar first; if none is similar, the first ones.
func similar(nodes []report.Node, subject string) []string {
	distances := make(map[string]int)
	var names []string
	for _, n := range nodes {
		for _, name := range []string{n.Name, n.Address} {
			if _, seen := distances[name]; !seen && name != "" {
				distances[name] = levenshtein.ComputeDistance(strings.ToLower(subject), strings.ToLower(name))
				names = append(names, name)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	return names[:min(len(names), mostSimilar)]
}
