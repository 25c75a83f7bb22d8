package image_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEveryImageIsPinnedByDigest: a tag may be something else tomorrow.
func TestEveryImageIsPinnedByDigest(t *testing.T) {
	d := parse(t)
	pinned := regexp.MustCompile(`^[a-z0-9./-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}$`)
	for _, s := range d.stages {
		if !pinned.MatchString(s.base) {
			t.Errorf("%s: from %q, want name:tag@sha256:...", s.name, s.base)
		}
	}
	for _, name := range []string{"controller", "endpoint-views", "toolbox"} {
		s := d.stage(t, name)
		if !strings.Contains(s.base, "distroless") || !strings.Contains(s.base, ":nonroot@") {
			t.Errorf("%s: from %s, want a distroless image that is not root's", name, s.base)
		}
		if s.platform != "" {
			t.Errorf("%s: platform %s, want that of the target", name, s.platform)
		}
		if len(s.all("RUN")) > 0 {
			t.Errorf("%s: runs %v, which another platform would have to emulate", name, s.all("RUN"))
		}
	}
	for _, name := range []string{"build", "kubectl"} {
		if s := d.stage(t, name); s.platform != "$BUILDPLATFORM" {
			t.Errorf("%s: platform %q, want $BUILDPLATFORM, for Go compiles for others and nothing need be emulated", name, s.platform)
		}
	}
	if last := d.stages[len(d.stages)-1].name; last != "controller" {
		t.Errorf("got %s where no target is named, want controller", last)
	}
}

// TestTheBuilderHasTheGoOfTheModule: otherwise it would have to fetch another Go.
func TestTheBuilderHasTheGoOfTheModule(t *testing.T) {
	mod := read(t, "go.mod")
	asked := regexp.MustCompile(`(?m)^go (1\.\d+)(?:\.(\d+))?$`).FindStringSubmatch(mod)
	image := regexp.MustCompile(`^golang:(1\.\d+)\.(\d+)`).FindStringSubmatch(parse(t).stage(t, "build").base)
	if asked == nil || image == nil {
		t.Fatalf("go.mod: %v, builder: %v", asked, image)
	}
	if asked[1] != image[1] {
		t.Errorf("got Go %s in the builder and %s in go.mod", image[1], asked[1])
	}
}

func TestTheImagesRunWithoutRootAndSayWhatTheyAre(t *testing.T) {
	d := parse(t)
	const daemon, run = `["/ionos-endpointslice-controller"]`, `["run"]`
	for name, starts := range map[string][2]string{
		"controller": {daemon, run}, "toolbox": {daemon, run}, "endpoint-views": {`["/endpoint-views"]`, `["serve"]`},
	} {
		s := d.stage(t, name)
		for instruction, want := range map[string]string{"USER": "65532:65532", "ENTRYPOINT": starts[0], "CMD": starts[1]} {
			if got := s.all(instruction); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %s: got %v, want %s", name, instruction, got, want)
			}
		}
		labels := strings.Join(s.all("LABEL"), " ")
		for _, key := range []string{"title", "description", "source", "documentation", "licenses", "version", "revision"} {
			if !regexp.MustCompile(`org\.opencontainers\.image\.` + key + `="[^"]+"`).MatchString(labels) {
				t.Errorf("%s: no label %s in %s", name, key, labels)
			}
		}
		for _, arg := range []string{"VERSION=unknown", "REVISION=unknown"} {
			if !slices.Contains(s.all("ARG"), arg) {
				t.Errorf("%s: no ARG %s, so the label of it is empty", name, arg)
			}
		}
	}
}

// TestTheChartsAndTheReleaseMeanTheseImages: user, repository and targets stand in
// three places.
func TestTheChartsAndTheReleaseMeanTheseImages(t *testing.T) {
	workflow := read(t, ".github/workflows/release.yml")
	for _, chart := range []string{"ionos-endpointslice-controller", "endpoint-views"} {
		var values struct {
			Image              struct{ Repository string }
			PodSecurityContext struct{ RunAsUser, RunAsGroup int64 }
		}
		if err := yaml.Unmarshal([]byte(read(t, "helm/"+chart+"/values.yaml")), &values); err != nil {
			t.Fatal(err)
		}
		if values.PodSecurityContext.RunAsUser != 65532 || values.PodSecurityContext.RunAsGroup != 65532 {
			t.Errorf("%s: the chart runs the image as %+v", chart, values.PodSecurityContext)
		}
		if want := "IMAGE: " + values.Image.Repository + "\n"; !strings.Contains(workflow, want) {
			t.Errorf("%s: the release pushes elsewhere than to %s", chart, values.Image.Repository)
		}
	}
	for _, s := range parse(t).stages[2:] {
		if !strings.Contains(workflow, "target: "+s.name+"\n") {
			t.Errorf("the release does not build %s", s.name)
		}
	}
}

func TestTheBuilderIsGivenNothingElse(t *testing.T) {
	for _, file := range []string{".envrc", "token", "remote-kubeconfig.yaml", ".git/config", "README.md", "bin/demo", ".tools/bin/etcd",
		"internal/settings/load_test.go", "internal/endpoints/inventory/testdata/bad/null.json", "scripts/scripts_test.go", "tools/lint/go.mod"} {
		if !ignored(t, file) {
			t.Errorf("%s goes to the builder", file)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "cmd/ionos-endpointslice-controller/main.go", "internal/settings/load.go",
		"cmd/endpoint-views/main.go", "pkg/views/client.go",
		"tools/kubernetes/go.sum", "scripts/render_inventory.py"} {
		if ignored(t, file) {
			t.Errorf("%s does not go to the builder", file)
		}
	}
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(repository + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
