package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

const (
	folder   = "../../deploy"
	chartDir = "../../helm/ionos-endpointslice-controller"
	script   = "../../scripts/render_inventory.py"
)

// generated says how each generated manifest is made.
var generated = map[string]func(t *testing.T) string{
	"rbac.example.yaml":                    rbac,
	"controller-config.example.yaml":       controllerConfig,
	"controller-deployment.example.yaml":   controllerDeployment,
	"scripts-configmap.ionos.example.yaml": scriptsConfigMap,
	"documents/account.yaml":               account,
	"documents/namespace-rights.yaml":      namespaceRights,
	"documents/kinds-rights.yaml":          kindsRights,
}

func TestTheGeneratedManifestsAreCurrent(t *testing.T) {
	for name, make := range generated {
		golden.Check(t, filepath.Join(folder, name), make(t), "make generate")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func rbac(t *testing.T) string {
	return `# What the daemon may do: in the namespace of the Service, by name, and nothing else. The subject of each RoleBinding
# needs the namespace once more. For a Service of another name change "web" everywhere. Where slices are there already, add
# the new names and keep the old ones until the Pods are replaced: the daemon that runs has to write its slices until then,
# or a dead endpoint stays ready in them.
#
` + madeFromChart + rendered(t, "serviceaccount", "role", "leaserole", "replies")
}

func controllerDeployment(t *testing.T) string {
	text := rendered(t, "deployment")
	// The variables are in the ConfigMap, apart from the one that the Pod knows best.
	before, rest, found := strings.Cut(text, "          env:\n")
	_, after, also := strings.Cut(rest, "          resources:\n")
	if !found || !also {
		t.Fatalf("no env before the resources in\n%s", text)
	}
	return `# The daemon: two replicas, of which one works and the other stands by. The Pods satisfy the Pod Security Standard
# "restricted". They read the ConfigMap when they start.
#
# For SOURCE_KIND=command or STORE_KIND=kubectl take the image with the suffix "-toolbox": compatible with the original,
# not recommended.
#
` + madeFromChart + before + `          envFrom:
            - configMapRef:
                name: ` + name + `-config
          env:
            - name: TARGET_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
          resources:
` + after
}

// layout is how the variables are laid out for a reader.
var layout = []struct {
	comment string
	names   []string
}{
	{"Where the nodes come from.", []string{"SOURCE_KIND"}},
	{"The data centre of the nodes (a UUID), and the private LAN whose addresses are published (a number).", []string{"IONOS_DATACENTER_ID", "IONOS_PRIVATE_LAN_ID"}},
	{"Only addresses inside are ever published or probed, for example 10.0.0.0/24.", []string{"SECURED_SUBNET_CIDR"}},
	{"Files of the Secrets ionos-token and kubeconfigs, as the Deployment mounts them.", []string{"IONOS_TOKEN_FILE", "SECURED_KUBECONFIG"}},
	{"The Service of service.example.yaml, in the namespace of the Pods, and the port on which the workload listens on the nodes.", []string{"TARGET_SERVICE_NAME", "TARGET_PORT"}},
	{"Write the slices as the ServiceAccount, and only the replica that leads.", []string{"STORE_KIND", "LEADER_ELECTION", "LEADER_ELECTION_NAME"}},
	{"For the kubelet's probes and Prometheus.", []string{"METRICS_ADDRESS"}},
}

// elsewhere are the variables that the daemon gets in another way.
var elsewhere = map[string]string{
	"TARGET_NAMESPACE":          "the Pod knows it",
	"LEADER_ELECTION_NAMESPACE": "it is TARGET_NAMESPACE by default",
}

// ownValues are the variables without a value that fits every cluster.
var ownValues = map[string]bool{"IONOS_DATACENTER_ID": true, "IONOS_PRIVATE_LAN_ID": true, "SECURED_SUBNET_CIDR": true}

func controllerConfig(t *testing.T) string {
	var out strings.Builder
	out.WriteString(`# The variables of the daemon; docs/reference/configuration.md has all of them with their meaning. Running Pods see
# a change after "kubectl rollout restart deployment".
#
` + madeFromChart + `apiVersion: v1
kind: ConfigMap
metadata:
  name: ` + name + `-config
  labels:
    app.kubernetes.io/name: ` + name + `
    app.kubernetes.io/instance: ` + name + `
data:
`)
	env := environmentOfChart(t)
	for _, group := range layout {
		out.WriteString("  # " + group.comment + "\n")
		for _, variable := range group.names {
			value, ok := env[variable]
			if !ok {
				t.Errorf("the chart renders no variable %s; correct the layout in test/deploy", variable)
			}
			delete(env, variable)
			if ownValues[variable] {
				value = placeholder
			}
			out.WriteString("  " + variable + `: "` + value + "\"\n")
		}
	}
	for variable := range env {
		if elsewhere[variable] == "" {
			t.Errorf("the chart renders variable %s, which the layout in test/deploy does not have", variable)
		}
	}
	out.WriteString(`
  # Compatible with the original, not recommended: for the script of scripts-configmap.ionos.example.yaml, with the
  # toolbox image, make SOURCE_KIND "command" and take these in as well. The prefix is how the addresses begin that the
  # script prints.
  # INVENTORY_COMMAND: "python3"
  # INVENTORY_COMMAND_ARGS: "/etc/` + name + `/render_inventory.py --all"
  # SECURED_SUBNET_PREFIX: "10.0.0."
  # HOME: "/tmp"
`)
	return out.String()
}

func scriptsConfigMap(t *testing.T) string {
	var out strings.Builder
	out.WriteString(`# The inventory script for SOURCE_KIND=command, to be read and changed without building an image; the toolbox image
# has the same one at /scripts/render_inventory.py. docs/how-to/choose-a-source.md describes it. It is compatible with the
# original, and not recommended: SOURCE_KIND=ionos does the same inside the daemon.
#
# Generated from scripts/render_inventory.py by "make generate".
apiVersion: v1
kind: ConfigMap
metadata:
  name: ` + name + `-scripts
  labels:
    app.kubernetes.io/name: ` + name + `
    app.kubernetes.io/instance: ` + name + `
data:
  render_inventory.py: |
`)
	for line := range strings.Lines(read(t, script)) {
		if line != "\n" {
			line = "    " + line
		}
		out.WriteString(line)
	}
	return out.String()
}
