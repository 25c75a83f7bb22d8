package chart_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

func TestLintFindsNothing(t *testing.T) {
	eachCombination(t, charts, func(t *testing.T, chart, version string, args []string) {
		got := helm(t, version, append([]string{"lint", "--strict", chart}, args...)...)
		if got.failed || strings.Contains(got.stdout, "[WARNING]") || strings.Contains(got.stdout, "[ERROR]") {
			t.Errorf("got\n%s%s", got.stdout, got.stderr)
		}
	})
}

func TestTheUnitTestsOfTheChartsPass(t *testing.T) {
	for _, chart := range charts {
		got := run(t, []string{"HOME=" + t.TempDir()}, built.Tool(t, "helm-unittest"), "--strict", "--file", "tests/*_test.yaml", chart)
		if got.failed {
			t.Errorf("got\n%s%s", got.stdout, got.stderr)
		}
		if !regexp.MustCompile(`Tests: +[1-9]\d* passed`).MatchString(got.stdout) {
			t.Errorf("got no tests in\n%s", got.stdout)
		}
	}
}

// TestEveryCombinationIsWhatTheAPIKnows: strict decoding is in documents.
func TestEveryCombinationIsWhatTheAPIKnows(t *testing.T) {
	eachCombination(t, charts, func(t *testing.T, chart, version string, args []string) {
		objects := documents(t, renderOnce(t, chart, version, args))
		for _, object := range objects {
			m := metaOf(t, object)
			name := fmt.Sprintf("%T %s", object, m.GetName())
			// Namespaces that are chosen by labels, and their labels, need a ClusterRole.
			bound := strings.Contains(name, "ClusterRole") && (chart == viewsDir || slices.Contains([]string{"pools", "folder", "kinds"}, combination(args)))
			_, definition := object.(*unstructured.Unstructured)
			cluster := bound || definition || strings.Contains(name, "Admission") || strings.Contains(name, "FlowSchema")
			if got := m.GetNamespace() == ""; got != cluster {
				t.Errorf("%s: got namespace %q", name, m.GetNamespace())
			}
			if m.GetLabels()["app.kubernetes.io/instance"] != "edge" {
				t.Errorf("%s: got labels %v", name, m.GetLabels())
			}
			if strings.Contains(name, "EndpointSlice") || strings.Contains(name, "Secret") || strings.Contains(name, "Cluster") && !bound {
				t.Errorf("got %s, which the chart must not render", name)
			}
		}
		pod := daemonPod(t, objects)
		if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
			t.Error("enableServiceLinks: got true, want false")
		}
		for _, mount := range pod.Containers[0].VolumeMounts {
			if mount.SubPath != "" {
				t.Errorf("%s: mounted by subPath %s, which no renewed Secret reaches", mount.Name, mount.SubPath)
			}
		}
	})
}

// combination is the name of the values file in the arguments of eachCombination.
func combination(args []string) string {
	return strings.TrimSuffix(filepath.Base(args[1]), "-values.yaml")
}

func TestBothVersionsOfHelmRenderTheSame(t *testing.T) {
	eachCombination(t, charts, func(t *testing.T, chart, version string, args []string) {
		if version == helms[0] {
			return // the other is compared with it
		}
		first, second := documents(t, renderOnce(t, chart, helms[0], args)), documents(t, renderOnce(t, chart, version, args))
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("(-%s +%s)\n%s", helms[0], version, diff)
		}
	})
}

// TestTwoRendersAreEqual: nothing random and no time is in them, or Argo CD would
// never be in sync.
func TestTwoRendersAreEqual(t *testing.T) {
	eachCombination(t, charts, func(t *testing.T, chart, version string, args []string) {
		if diff := cmp.Diff(renderOnce(t, chart, version, args), renderOf(t, chart, version, args...)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTheChartsAskNothingOfTheCluster: helm template and Argo CD have no cluster to
// ask. Hooks other than the test's would not run there.
func TestTheChartsAskNothingOfTheCluster(t *testing.T) {
	templates, err := filepath.Glob("../../helm/*/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, template := range templates {
		if info, err := os.Stat(template); err != nil || info.IsDir() {
			continue
		}
		text := read(t, template)
		for _, word := range []string{"lookup ", "randAlpha", "randBytes", "uuidv4", "genCA", "now ", ".Capabilities", "helm.sh/hook", ".Release.Revision", ".Release.IsInstall"} {
			if strings.Contains(text, word) {
				t.Errorf("%s: got %q", template, word)
			}
		}
	}
}

func TestKubeScoreFindsNothingCritical(t *testing.T) {
	// A registry that is down must not keep a replica from starting.
	const apart = "container-image-pull-policy"
	eachCombination(t, charts, func(t *testing.T, chart, version string, args []string) {
		if slices.Contains([]string{"file", "static", "minimal"}, combination(args)) || version != helms[0] {
			return // these show what can be switched off; and both versions render the same
		}
		manifests := filepath.Join(t.TempDir(), "manifests.yaml")
		if err := os.WriteFile(manifests, []byte(renderOf(t, chart, version, append(args, "--skip-tests")...)), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, nil, built.Tool(t, "kube-score"), "score", "--output-format=ci", "--ignore-test="+apart, "--kubernetes-version=v1.31", manifests)
		for line := range strings.Lines(got.stdout) {
			if strings.HasPrefix(line, "[CRITICAL]") {
				t.Error(strings.TrimSpace(line))
			}
		}
		if !strings.Contains(got.stdout, "[OK]") {
			t.Errorf("got\n%s%s", got.stdout, got.stderr)
		}
	})
}

// TestTheChartIsASubchart: with values of the parent, its globals and a condition.
func TestTheChartIsASubchart(t *testing.T) {
	parent := t.TempDir()
	files := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: parent\nversion: 0.0.1\ndependencies:\n" +
			"  - {name: ionos-endpointslice-controller, version: 0.0.0, repository: '', alias: edge, condition: edge.enabled}\n",
		"values.yaml": "global: {imageRegistry: registry.example.com}\nedge: {enabled: true}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(parent, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(parent, "charts", "ionos-endpointslice-controller"), os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, arg := range readme {
		args = append(args, strings.NewReplacer("image.", "edge.image.", "controller.", "edge.controller.").Replace(arg))
	}
	for _, version := range helms {
		got := helm(t, version, append([]string{"template", "release", parent}, args...)...)
		if got.failed {
			t.Fatalf("%s: %s", version, got.stderr)
		}
		if objects := documents(t, got.stdout); len(objects) < 8 {
			t.Errorf("%s: got %d objects", version, len(objects))
		}
		got = helm(t, version, append([]string{"template", "release", parent, "--set", "edge.replicas=3"}, args...)...)
		if !got.failed || !strings.Contains(got.stderr, "replicas") {
			t.Errorf("%s: an unknown key: got %v, %s", version, got.failed, got.stderr)
		}
	}
}

func TestEveryVariableIsReachable(t *testing.T) {
	given := map[string]string{"SOURCE_KIND": "kubernetes", "TARGET_PORT": "", "TARGET_PORTS": "http=8080", "STORE_KIND": "client-go"}
	one, many := map[string]string{}, map[string]string{}
	for _, v := range variables(t) {
		value, ok := given[v.name]
		if !ok {
			value = sample(v)
		}
		if !v.namesFolder() {
			one[v.key()] = value
		}
		if !v.inDocuments() {
			many[v.key()] = value
		}
	}
	bounds := map[string]any{"namespaces": []string{"shop"}, "subnets": []string{"10.0.0.0/24"}, "ports": []int{8080}}
	for _, values := range []map[string]any{{"controller": one}, {"controller": many, "bounds": bounds}} {
		values["image"] = map[string]any{"tag": "0.1.0"}
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "values.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, v := range variables(t) {
			if value := values["controller"].(map[string]string)[v.key()]; value != "" {
				want[v.name] = value
			}
		}
		env := environment(daemonPod(t, documents(t, render(t, helms[1], "--values", file))).Containers[0])
		if diff := cmp.Diff(want, env); diff != "" {
			t.Errorf("environment (-values +Pod)\n%s", diff)
		}
	}
}
