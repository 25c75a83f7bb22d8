package deploy_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

const (
	// name is what everything of the daemon is called.
	name = "ionos-endpointslice-controller"
	// placeholder stands where each cluster has a value of its own.
	placeholder = "REPLACE_ME"
	// exampleNamespace is a namespace that a name must have while Helm renders.
	exampleNamespace = "namespace-to-replace"
	// exampleTeam is a namespace in which Services are filled.
	exampleTeam = "team-to-replace"

	madeFromChart = "# Generated from the chart in helm/ by \"make generate\": it is the same without Helm.\n"
)

// rendered are templates of the chart as manifests that Helm has no part in.
func rendered(t *testing.T, templates ...string) string {
	t.Helper()
	return withoutHelm(render(t, templates...))
}

// withoutHelm makes manifests that Helm has no part in of what it rendered.
func withoutHelm(text string) string {
	for _, rule := range []struct{ what, becomes string }{
		{`(?m)^# Source: .*\n`, ""},
		// What Helm knows of the release.
		{`(?m)^ +(helm\.sh/chart|app\.kubernetes\.io/(version|managed-by)): .*\n`, ""},
		// kubectl -n says the namespace; only the subject of a RoleBinding must.
		{`(?m)^  namespace: "?(` + exampleNamespace + `|` + exampleTeam + `)"?\n`, ""},
		{exampleNamespace, placeholder},
		{`(image: "[^"]*):example"`, "${1}:" + placeholder + `"`},
		{`(?m)^\s*\n`, ""},
		{`\A---\n`, ""},
	} {
		pattern := regexp.MustCompile(rule.what)
		text = pattern.ReplaceAllString(text, rule.becomes)
	}
	return text
}

// render is what Helm makes of templates of the chart with chart-values.yaml.
func render(t *testing.T, templates ...string) string {
	t.Helper()
	return renderWith(t, []string{"--values", filepath.Join(folder, "chart-values.yaml")}, templates...)
}

// renderWith is what Helm makes of templates of the chart with values of its own.
func renderWith(t *testing.T, values []string, templates ...string) string {
	t.Helper()
	home := t.TempDir()
	args := append([]string{"template", name, chartDir, "--namespace", exampleNamespace}, values...)
	for _, template := range templates {
		args = append(args, "--show-only", "templates/"+template+".yaml")
	}
	command := exec.CommandContext(t.Context(), built.Tool(t, "helm4"), args...)
	command.Env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home}
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, stderr.String())
	}
	return string(out)
}

// environmentOfChart are the variables of the chart's Pod.
func environmentOfChart(t *testing.T) map[string]string {
	t.Helper()
	container := stage.One[*appsv1.Deployment](t, documents(t, render(t, "deployment"))).Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, variable := range container.Env {
		if variable.Name == "NODE_NAME" {
			continue // of the Pod, not of the ConfigMap
		}
		if variable.ValueFrom != nil {
			t.Fatalf("variable %s: unforeseen source", variable.Name)
		}
		env[variable.Name] = variable.Value
	}
	return env
}
