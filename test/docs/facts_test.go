package docs_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// found returns the first group of the expression in a file.
func found(t *testing.T, path, expression string) string {
	t.Helper()
	groups := regexp.MustCompile(expression).FindStringSubmatch(read(t, path))
	if groups == nil {
		t.Fatalf("%s: nothing like %s", path, expression)
	}
	return groups[1]
}

// TestTheReadmeNamesTheVersions compares its table with the chart and with the
// modules that the program and the tests are built from.
func TestTheReadmeNamesTheVersions(t *testing.T) {
	const helm = "tools/helm/go.mod"
	supported := found(t, "helm/ionos-endpointslice-controller/Chart.yaml", `kubeVersion: ">=(\d+\.\d+)`)
	server := found(t, "tools/kubernetes/go.mod", `k8s\.io/kubernetes v([\d.]+)`)
	language := found(t, "go.mod", `(?m)^go (\d+\.\d+)`)
	for _, want := range []string{
		"| Kubernetes, local cluster | " + supported + " or newer | " + server + " |",
		"| " + server + " |\n| Helm | 3 and 4 | " + found(t, helm, `helm/v3 v([\d.]+)`) + ", " + found(t, helm, `helm/v4 v([\d.]+)`) + " |",
		"| Go, to build it | " + language + " or newer | " + language + " |",
		"a Debian machine with Go " + language + " and",
	} {
		if !strings.Contains(read(t, "README.md"), want) {
			t.Errorf("README.md: got no %q", want)
		}
	}
}

// TestTheReadmePromisesNoMoreThanWasMeasured compares its figures with the report.
func TestTheReadmePromisesNoMoreThanWasMeasured(t *testing.T) {
	const report, readme = "docs/reports/traffic.md", "README.md"
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	_, rotations, _ := strings.Cut(read(t, report), "## Planned rotation, by each source")
	rotations, _, _ = strings.Cut(rotations, "\n## ")
	sources, requests := 0, 0.0
	for _, r := range regexp.MustCompile(`(?m)^\| \w+ \| [^|]+ \| (\d+) \| (\d+) \|`).FindAllStringSubmatch(rotations, -1) {
		sources++
		requests += number(r[1])
		if r[2] != "0" {
			t.Errorf("%s: lost requests in %s", report, r[0])
		}
	}
	if said := number(found(t, readme, `more than ([\d,]+) requests`)); sources != 5 || requests <= said {
		t.Errorf("got %v requests by %d sources, README.md says more than %v by five", requests, sources, said)
	}
	for _, death := range [][2]string{
		{`refused: [^;]* max ([\d.]+) s;`, `lost its last request after ([\d.]+) s at most`},
		{`; silent: [^;|]* max ([\d.]+) s `, `fell silent after ([\d.]+) s`},
	} {
		if got, said := number(found(t, report, death[0])), number(found(t, readme, death[1])); got > said {
			t.Errorf("a request was lost %v s after a death, README.md says %v s", got, said)
		}
	}
}

// ours is a version of this project, where one is named: an image, a chart, a build.
var ours = regexp.MustCompile(`(?:image\.tag=|tag: |VERSION=|targetRevision: |[-_]controller[:_]|set-image\.sh )v?(\d+\.\d+\.\d+)`)

// TestPagesNameOnlyReleasesThatThereAre: those of the changelog.
func TestPagesNameOnlyReleasesThatThereAre(t *testing.T) {
	var released []string
	for _, heading := range regexp.MustCompile(`(?m)^## \[?v?(\d+\.\d+\.\d+)`).FindAllStringSubmatch(read(t, "CHANGELOG.md"), -1) {
		released = append(released, heading[1])
	}
	for _, p := range pages(t) {
		for i, line := range p.lines {
			for _, version := range ours.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(released, version[1]) {
					t.Errorf("%s:%d: %s is not released; CHANGELOG.md has %v", p.path, i+1, version[0], released)
				}
			}
		}
	}
}
