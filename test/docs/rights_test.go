package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const securityPage = "docs/how-to/security.md"

// manifestsOfRights are the manifests with the rights of the programs.
var manifestsOfRights = []string{
	"deploy/rbac.example.yaml", "deploy/documents/account.yaml", "deploy/documents/namespace-rights.yaml",
	"deploy/documents/kinds-rights.yaml", "deploy/fleet/rights.yaml",
}

// rights are verbs by resource.
type rights map[string][]string

func (r rights) add(resource string, verbs ...string) {
	r[resource] = append(r[resource], verbs...)
	slices.Sort(r[resource])
	r[resource] = slices.Compact(r[resource])
}

// TestThePageOfSecurityHasTheRightsOfTheManifests: each role has a row with the same verbs.
func TestThePageOfSecurityHasTheRightsOfTheManifests(t *testing.T) {
	listed, seen := listedRights(t), 0
	for _, path := range manifestsOfRights {
		for document := range strings.SplitSeq(read(t, path), "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			// Those that are added to the roles of people are not for the programs.
			if !strings.HasSuffix(role.Kind, "Role") || len(role.Labels) > 0 && slices.ContainsFunc(slices.Collect(maps.Keys(role.Labels)), func(l string) bool {
				return strings.HasPrefix(l, "rbac.authorization.k8s.io/")
			}) {
				continue
			}
			want := rights{}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					want.add(resource, rule.Verbs...)
				}
			}
			seen++
			if !slices.ContainsFunc(listed, want.in) {
				t.Errorf("%s: no row of %s has the rights of %s %s: %v", path, securityPage, role.Kind, role.Name, want)
			}
		}
	}
	if seen < 6 {
		t.Errorf("got %d roles: are they still found?", seen)
	}
}

// in reports whether the row has these rights, and no other verb of these resources.
func (r rights) in(row rights) bool {
	for resource, verbs := range r {
		if !slices.Equal(verbs, row[resource]) {
			return false
		}
	}
	return true
}

// listedRights are those of each row.
func listedRights(t *testing.T) []rights {
	t.Helper()
	_, section, _ := strings.Cut(read(t, securityPage), "\n## Rights\n")
	section, _, _ = strings.Cut(section, "\n## ")
	clause := regexp.MustCompile("((?:`[a-z]+`(?:, )?)+) of ([^;|]+)")
	word := regexp.MustCompile("[a-z]+(?:/[a-z]+)?")
	var all []rights
	for line := range strings.Lines(section) {
		row := rights{}
		for _, found := range clause.FindAllStringSubmatch(line, -1) {
			for _, resource := range word.FindAllString(found[2], -1) {
				for _, verb := range span.FindAllStringSubmatch(found[1], -1) {
					row.add(resource, verb[1])
				}
			}
		}
		if len(row) > 0 {
			all = append(all, row)
		}
	}
	return all
}
