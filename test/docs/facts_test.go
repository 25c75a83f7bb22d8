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
	} {
		if !strings.Contains(read(t, "README.md"), want) {
			t.Errorf("README.md: got no %q", want)
		}
	}
	if want := "a Debian machine with Go " + language + " and"; !strings.Contains(read(t, tryIt), want) {
		t.Errorf("%s: got no %q", tryIt, want)
	}
}

// maxReadme is how many words a reader has before a choice, maxFirst those that say for whom it is.
const maxReadme, maxFirst = 1100, 100

// TestTheReadmeIsShort counts what stands between spaces.
func TestTheReadmeIsShort(t *testing.T) {
	words := strings.Fields(read(t, "README.md"))
	if len(words) > maxReadme {
		t.Errorf("README.md: got %d words, want %d at most", len(words), maxReadme)
	}
	if first := strings.Join(words[:maxFirst], " "); !strings.Contains(first, "It is for you if") || !strings.Contains(first, "docs/comparison.md") {
		t.Errorf("README.md: the first %d words do not say for whom it is, and for whom it is not", maxFirst)
	}
}

// TestTheReadmeBeginsWithTheDemonstrationAndTheTests: these are the two commands that a bare machine
// has to be enough for.
func TestTheReadmeBeginsWithTheDemonstrationAndTheTests(t *testing.T) {
	_, block, _ := strings.Cut(read(t, "README.md"), "```sh\n")
	lines := strings.Split(block, "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "make demo ") || !strings.HasPrefix(lines[1], "make test ") {
		t.Errorf("README.md: its first commands are %q, want make demo and make test", lines[:min(2, len(lines))])
	}
}

// What a user may have to read: the bounds go down, and not up.
const (
	maxPages = 51
	maxWords = 31_400
)

// TestThePagesForUsersAreFew counts pages, and the words of those that are written by hand. A word
// stands between spaces and has a letter or a digit: the bars of tables are none. What is for
// developers alone does not count: contract, architecture and decisions.
func TestThePagesForUsersAreFew(t *testing.T) {
	count, words := 0, 0
	for _, p := range pages(t) {
		if !forUsers.MatchString(p.path) || forDevelopers.MatchString(p.path) {
			continue
		}
		count++
		if text := read(t, p.path); !strings.HasPrefix(text, "<!-- Generated") {
			words += len(legible.FindAllString(text, -1))
		}
	}
	t.Logf("%d pages for users, %d words by hand", count, words)
	if count > maxPages || words > maxWords {
		t.Errorf("got %d pages for users and %d words by hand, want %d and %d at most", count, words, maxPages, maxWords)
	}
}

var (
	legible       = regexp.MustCompile(`\S*[\pL\pN]\S*`)
	forUsers      = regexp.MustCompile(`^(README\.md|docs/|helm/|deploy/)`)
	forDevelopers = regexp.MustCompile(`^docs/design/`)
)

// figures are what README.md and the page of results say, each with the report
// that it comes from. What was measured must not be worse.
var figures = []struct{ report, measured, page, said string }{
	{traffic, `refused: [^;]* max ([\d.]+) s;`, "README.md", `lost its last request after ([\d.]+) s at most`},
	{traffic, `; silent: [^;|]* max ([\d.]+) s `, "README.md", `fell silent after ([\d.]+) s`},
	{traffic, `refused: [^;]* max ([\d.]+) s;`, results, `until ([\d.]+) s after the crash at most`},
	{traffic, `refused: [^;]* p50 ([\d.]+) s,`, results, `half of 20 crashes: until ([\d.]+) s`},
	{traffic, `; silent: [^;|]* max ([\d.]+) s `, results, `until ([\d.]+) s after it at most`},
	{traffic, `; silent: [^;|]* p50 ([\d.]+) s,`, results, `half of 20: until ([\d.]+) s`},
	{performance, `memory at 100 nodes, resident \| [^|]* \| ([\d.]+) MB`, results, `\| memory \| ([\d.]+) MB`},
	{performance, `memory at 1,000 nodes, resident \| [^|]* \| ([\d.]+) MB`, results, `\| memory \| [^|]* \| ([\d.]+) MB`},
	{performance, `memory at 10,000 nodes, resident \| [^|]* \| ([\d.]+) MB`, results, `\| memory \| [^|]* \| [^|]* \| ([\d.]+) MB`},
	{performance, `(?m)^\| 100 \| \d+ s \| ([\d.]+) \|`, results, `every 2 s \| ([\d.]+) cores`},
	{performance, `(?m)^\| 1,000 \| \d+ s \| ([\d.]+) \|`, results, `every 2 s \| [^|]* \| ([\d.]+) cores`},
	{performance, `(?m)^\| 10,000 \| \d+ s \| ([\d.]+) \|`, results, `every 2 s \| [^|]* \| [^|]* \| ([\d.]+) cores`},
	{performance, `(?m)^\| 100 \| daemon \| ([\d.]+) ms`, results, `slice, median \| ([\d.]+) ms`},
	{performance, `(?m)^\| 1,000 \| daemon \| ([\d.]+) ms`, results, `slice, median \| [^|]* \| ([\d.]+) ms`},
	{performance, `(?m)^\| 10,000 \| daemon \| ([\d.]+) ms`, results, `slice, median \| [^|]* \| [^|]* \| ([\d.]+) ms`},
	{performance, `first write, health check on \| ([\d.]+) ms`, results, `first write, 3 nodes \| ([\d.]+) ms`},
	{performance, `binary, stripped, linux/amd64 \| [^|]* \| ([\d.]+) MB`, results, `linux/amd64 \| ([\d.]+) MB`},
}

const (
	results     = "docs/results.md"
	traffic     = "test/lab/results/traffic.md"
	performance = "bench/results/performance.md"
)

// TestPagesPromiseNoMoreThanWasMeasured compares their figures with the reports.
func TestPagesPromiseNoMoreThanWasMeasured(t *testing.T) {
	for _, f := range figures {
		measured, said := figure(t, f.report, f.measured), figure(t, f.page, f.said)
		if measured > said {
			t.Errorf("%s: got %v for %s, %s says %v", f.report, measured, f.measured, f.page, said)
		}
	}
}

// figure is the number in the first group of the expression.
func figure(t *testing.T, path, expression string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.ReplaceAll(found(t, path, expression), ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// lossless are the scenarios of the page of results that lost no request.
var lossless = []string{
	"daemon restarted", "daemon killed", "daemon upgraded", "API server restarted, file", "API server restarted, kubernetes",
	"pool replaced at once", "a third of the nodes",
}

func TestNoRequestWasLostWhereThePagesSaySo(t *testing.T) {
	for _, scenario := range lossless {
		if lost := figure(t, traffic, `(?m)^\| `+scenario+` \| [^|]+ \| \d+ \| (\d+) \|`); lost != 0 {
			t.Errorf("%s: %v requests lost in %s", traffic, lost, scenario)
		}
	}
	_, rotations, _ := strings.Cut(read(t, traffic), "## Planned rotation, by each source")
	rotations, _, _ = strings.Cut(rotations, "\n## ")
	sources, requests := 0, 0
	for _, r := range regexp.MustCompile(`(?m)^\| \w+ \| [^|]+ \| (\d+) \| (\d+) \|`).FindAllStringSubmatch(rotations, -1) {
		n, _ := strconv.Atoi(r[1]) // digits
		sources, requests = sources+1, requests+n
		if r[2] != "0" {
			t.Errorf("%s: lost requests in %s", traffic, r[0])
		}
	}
	for _, page := range []string{"README.md", results} {
		if said := figure(t, page, `more than ([\d,]+) requests`); sources != 5 || float64(requests) <= said {
			t.Errorf("got %v requests by %d sources, %s says more than %v by five", requests, sources, page, said)
		}
	}
}

// ours is a version of this project, where one is named: an image, a chart, a build.
var ours = regexp.MustCompile(`(?:image\.tag=|tag: |VERSION=|targetRevision: |[-_]controller[:_]|set-image\.sh )v?(\d+\.\d+\.\d+)`)

// TestPagesNameOnlyReleasesThatThereAre: the releases of the changelog.
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
