package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

const (
	repository = "../.."
	// changelog is one of a release and of what came after it.
	changelog = "# Changelog\n\n## Unreleased\n\n### Added\n\n- Later.\n\n## 9.8.7 - 2026-11-22\n\n### Added\n\n" +
		"- A \"thing\": `a` # b \\ c ([ADR 1](docs/design/adr/1.md), [2](x)).\n\n### Fixed\n\n- Another's [x] thing.\n\n## 9.8.6\n\n### Removed\n\n- Before.\n"
)

// packageChart packages the chart of a release as its workflow does.
func packageChart(t *testing.T, version, changelog, tag string, options ...string) (result, string) {
	t.Helper()
	folder := t.TempDir()
	tool, err := filepath.Abs(built.Tool(t, version))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "CHANGELOG.md")
	if err := os.WriteFile(file, []byte(changelog), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HELM=" + tool, "PATH=" + os.Getenv("PATH"), "HOME=" + folder}
	got := run(t, env, filepath.Join(repository, "hack", "package-chart.sh"), append(options, "--changelog", file, tag, folder)...)
	return got, filepath.Join(folder, release+"-"+strings.TrimPrefix(tag, "v")+".tgz")
}

// packaged is the chart of a release.
func packaged(t *testing.T, version, changelog, tag string) string {
	t.Helper()
	got, chart := packageChart(t, version, changelog, tag)
	if got.failed {
		t.Fatalf("%s, %s: %s", version, tag, got.stderr)
	}
	return chart
}

// TestAReleasedChartKnowsItsImage: what is not released must not name an image that
// does not exist.
func TestAReleasedChartKnowsItsImage(t *testing.T) {
	const (
		image  = "ghcr.io/ablmnzde/ionoscloud-endpointslice-controller"
		digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	)
	for _, version := range helms {
		chart := packaged(t, version, changelog, "v9.8.7")
		for set, want := range map[string]string{
			"":                             image + ":v9.8.7",
			"image.tag=dev":                image + ":dev",
			"image.digest=" + digest:       image + "@" + digest,
			"controller.storeKind=kubectl": image + ":v9.8.7-toolbox",
			"controller.sourceKind=command,controller.inventoryCommand=cat": image + ":v9.8.7-toolbox",
		} {
			got := helm(t, version, "template", "edge", chart, "--show-only", "templates/deployment.yaml", "--set", set,
				"--set", "controller.ionosDatacenterId=8feda53f-15f0-447f-badf-ebe32dad2fc0", "--set", "controller.ionosPrivateLanId=2",
				"--set", "controller.securedSubnetCidr=10.7.222.0/24")
			if got.failed || !strings.Contains(got.stdout, `image: "`+want+`"`) {
				t.Errorf("%s, --set %q: got no image %q in\n%s%s", version, set, want, got.stdout, got.stderr)
			}
		}
	}
}

// metadata is of Chart.yaml what Artifact Hub reads.
type metadata struct {
	Icon        string            `json:"icon"`
	Annotations map[string]string `json:"annotations"`
}

// change is an entry of artifacthub.io/changes.
type change struct{ Kind, Description string }

// described reads the metadata of a chart, and into, the YAML of an annotation.
func described(t *testing.T, chart, annotation string, into any) metadata {
	t.Helper()
	var m metadata
	got := helm(t, helms[1], "show", "chart", chart)
	if err := yaml.Unmarshal([]byte(got.stdout), &m); err != nil || got.failed {
		t.Fatalf("%v: %s", err, got.stderr)
	}
	if err := yaml.UnmarshalStrict([]byte(m.Annotations["artifacthub.io/"+annotation]), into); err != nil {
		t.Fatalf("%s: %v", annotation, err)
	}
	return m
}

func TestAReleasedChartTellsWhatChanged(t *testing.T) {
	for tag, want := range map[string][]change{
		"v9.8.7":      {{"added", "A \"thing\": `a` # b \\ c (ADR 1, 2)."}, {"fixed", "Another's [x] thing."}},
		"v9.8.6":      {{"removed", "Before."}},
		"v9.9.0-rc.1": {{"added", "Later."}},
	} {
		var got []change
		m := described(t, packaged(t, helms[1], changelog, tag), "changes", &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: changes (-want +got)\n%s", tag, diff)
		}
		if got, want := m.Annotations["artifacthub.io/prerelease"] == "true", strings.Contains(tag, "-"); got != want {
			t.Errorf("%s: prerelease: got %v", tag, got)
		}
	}
	for tag, says := range map[string]string{"v9.9.0": "no section 9.9.0", "9.8.7": "no tag of a release", "latest": "no tag of a release"} {
		if got, _ := packageChart(t, helms[1], changelog, tag); !got.failed || !strings.Contains(got.stderr, says) {
			t.Errorf("%s: got %v, %s, want %q", tag, got.failed, got.stderr, says)
		}
	}
}

// TestTheChangelogFitsTheRelease: each entry of its newest section becomes one that
// Artifact Hub takes.
func TestTheChangelogFitsTheRelease(t *testing.T) {
	text := read(t, filepath.Join(repository, "CHANGELOG.md"))
	var changes []change
	for _, section := range strings.Split(text, "\n## ")[1:] {
		want := len(regexp.MustCompile(`(?m)^\s*[-*] `).FindAllString(section, -1))
		if want == 0 {
			continue
		}
		tag := "v" + strings.Trim(strings.Fields(section)[0], "[]")
		if tag == "vUnreleased" {
			tag = "v9.8.7-rc.1"
		}
		described(t, packaged(t, helms[1], text, tag), "changes", &changes)
		if len(changes) != want {
			t.Errorf("%s: got %d changes, want the %d entries of the section", tag, len(changes), want)
		}
		break
	}
	if len(changes) == 0 {
		t.Error("got no section with changes")
	}
	for _, c := range changes {
		if !slices.Contains([]string{"added", "changed", "deprecated", "removed", "fixed", "security"}, c.Kind) || c.Description == "" {
			t.Errorf("got %+v", c)
		}
	}
}

func TestTheChartSaysWhatArtifactHubShows(t *testing.T) {
	var images []struct {
		Name, Image string
		Platforms   []string
	}
	m := described(t, packaged(t, helms[1], changelog, "v9.8.7"), "images", &images)
	for i, want := range []string{":v9.8.7", ":v9.8.7-toolbox"} {
		if len(images) != 2 || !strings.HasSuffix(images[i].Image, want) || len(images[i].Platforms) != 2 {
			t.Errorf("got images %+v, want one that ends in %s", images, want)
		}
	}
	if m.Annotations["artifacthub.io/category"] != "networking" {
		t.Errorf("got %v, want the category networking", m.Annotations)
	}
	if license := m.Annotations["artifacthub.io/license"]; license != "Apache-2.0" || !strings.Contains(read(t, repository+"/LICENSE"), "Apache License") {
		t.Errorf("got license %q, want that of LICENSE", license)
	}
	var links []struct{ Name, URL string }
	described(t, chartDir, "links", &links)
	urls := []string{m.Icon}
	for _, link := range links {
		urls = append(urls, link.URL)
	}
	const ours = "ablmnzde/ionoscloud-endpointslice-controller/"
	file := regexp.MustCompile(`^https://(?:raw\.githubusercontent\.com/` + ours + `|github\.com/` + ours + `blob/)main/(.+)$`)
	files := 0
	for _, url := range urls {
		if m := file.FindStringSubmatch(url); m != nil {
			files++
			if _, err := os.Stat(filepath.Join(repository, m[1])); err != nil {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
	if files < 4 {
		t.Errorf("got %v, want icon and documents of this repository", urls)
	}
}
