package deploy_test

import (
	"strings"
	"testing"
)

// documentsValues are those of an installation that fills the Services of one namespace,
// as pools and bindings in the API server say.
var documentsValues = []string{
	"--set", "image.tag=example,controller.documentsApi=true",
	"--set-json", `bounds={"namespaces":["` + exampleTeam + `"],"subnets":["10.0.0.0/16"],"ports":[30080]}`,
}

// rights are the objects of these kinds in templates of the chart.
func rights(t *testing.T, templates []string, kinds ...string) string {
	t.Helper()
	var found []string
	for _, object := range strings.Split(withoutHelm(renderWith(t, documentsValues, templates...)), "---\n") {
		for _, kind := range kinds {
			if strings.Contains(object, "\nkind: "+kind+"\n") {
				found = append(found, object)
			}
		}
	}
	if len(found) < len(kinds) {
		t.Fatalf("got %d objects of the kinds %v in the templates %v of the chart, want one of each kind or more", len(found), kinds, templates)
	}
	return strings.Join(found, "---\n")
}

func account(t *testing.T) string {
	return `# The ServiceAccount of a daemon that fills many Services, and its Leases. Apply it in the namespace of the daemon, with
# that namespace instead of the placeholder: docs/how-to/many-services.md, "Without the chart".
#
` + madeFromChart + rights(t, []string{"serviceaccount", "leaserole", "replies"}, "ServiceAccount", "Role", "RoleBinding", "Lease")
}

func namespaceRights(t *testing.T) string {
	return `# What the daemon may do in a namespace whose Services it fills. Apply it in each such namespace, with the namespace of the
# daemon instead of the placeholder: docs/how-to/many-services.md, "Without the chart".
#
` + madeFromChart + rights(t, []string{"boundroles"}, "Role", "RoleBinding")
}

func kindsRights(t *testing.T) string {
	return `# Rights on the kinds EndpointPool and EndpointBinding, for DOCUMENTS_API=true; crds/ has their definitions. The daemon
# reads both kinds and writes their status. The last two ClusterRoles are for people: Kubernetes adds them to "edit" and
# "view", so who may edit a namespace may write the bindings in it. Pools belong to no namespace: only a ClusterRoleBinding
# to "view" shows them, and only administrators of the cluster write them.
#
# Replace the placeholder with the namespace of the daemon: docs/how-to/many-services.md, "Without the chart".
#
` + madeFromChart + rights(t, []string{"boundroles", "aggregatedroles"}, "ClusterRole", "ClusterRoleBinding")
}
