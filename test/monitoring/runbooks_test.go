package monitoring_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// index is the page about all runbooks.
const index = "README.md"

// maxPages: a reader on call should find the page by what hurts.
const maxPages = 9

// parts are what a person on call looks for in each section, in this order.
var parts = []string{"**Traffic.** ", "```sh\n", "| cause | remedy |\n|---|---|\n", "**Ends** "}

// runbookPages returns the text of each page by its file, without the index.
func runbookPages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(runbooksPath, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]string)
	for _, path := range paths {
		if name := filepath.Base(path); name != index {
			pages[name] = read(t, path)
		}
	}
	return pages
}

// section is what a page says of one alert.
type section struct{ page, text string }

// url is where it is read.
func (s section) url(alert string) string { return runbookURL + s.page + "#" + strings.ToLower(alert) }

// runbooks returns the section of each alert by name.
func runbooks(t *testing.T) map[string]section {
	t.Helper()
	sections := make(map[string]section)
	for page, text := range runbookPages(t) {
		for _, part := range strings.Split(text, "\n## ")[1:] {
			name, rest, _ := strings.Cut(part, "\n")
			if twice, ok := sections[name]; ok {
				t.Errorf("%s: also in %s and %s", name, twice.page, page)
			}
			sections[name] = section{page, rest}
		}
	}
	return sections
}

func TestEveryAlertHasASectionAndEverySectionAnAlert(t *testing.T) {
	sections, pages := runbooks(t), runbookPages(t)
	if len(pages) > maxPages {
		t.Errorf("%s: got %d pages, want %d at most", runbooksPath, len(pages), maxPages)
	}
	for name, s := range sections {
		if !slices.Contains(alerts(t), name) {
			t.Errorf("%s: there is no alert %s", s.page, name)
		}
	}
	overview := read(t, filepath.Join(runbooksPath, index))
	for page := range pages {
		if !strings.Contains(overview, "]("+page+") | ") {
			t.Errorf("%s: no row for %s", index, page)
		}
	}
	for _, r := range rules(t) {
		s, ok := sections[r.Alert]
		if !ok {
			t.Errorf("%s: no section for %s", runbooksPath, r.Alert)
			continue
		}
		if got, want := r.Annotations["runbook_url"], s.url(r.Alert); got != want {
			t.Errorf("%s: got runbook_url %s, want %s", r.Alert, got, want)
		}
		link := strings.TrimPrefix(s.url(r.Alert), runbookURL)
		if !strings.Contains(strings.ToLower(listedBelow(overview, "- ["+r.Alert+"]("+link+")\n")), r.Labels["severity"]) {
			t.Errorf("%s: the index does not have it with its severity %s", r.Alert, r.Labels["severity"])
		}
		severity := regexp.MustCompile(`^\n\*\*([^*]+)\*\* `).FindStringSubmatch(s.text)
		if severity == nil || !strings.Contains(strings.ToLower(severity[1]), r.Labels["severity"]) {
			t.Errorf("%s: the section does not begin with the severity %s", r.Alert, r.Labels["severity"])
		}
	}
}

// listedBelow is the third-level heading of the page below which the line is; empty if it is on
// the page not at all, or twice.
func listedBelow(page, line string) string {
	if strings.Count(page, line) != 1 {
		return ""
	}
	before, _, _ := strings.Cut(page, line)
	_, heading, _ := strings.Cut(before[strings.LastIndex(before, "\n### "):], "### ")
	heading, _, _ = strings.Cut(heading, "\n")
	return heading
}

// TestTheExpiringCredentialHasItsRenewal: the alert names the credential by a label.
func TestTheExpiringCredentialHasItsRenewal(t *testing.T) {
	text := strings.ToLower(runbooks(t)["IonosEndpointSliceCredentialExpiring"].text)
	for _, credential := range credentials(t) {
		if !strings.Contains(text, "\n### "+credential+"\n") {
			t.Errorf("no heading for #%s", credential)
		}
	}
}

// credentials are the values of the label credential.
func credentials(t *testing.T) []string {
	t.Helper()
	values := known(t)["ionos_endpointslice_credential_expiry_timestamp_seconds"]["credential"]
	if len(values) != 2 {
		t.Fatalf("got credentials %q", values)
	}
	return values
}

func TestEverySectionHasItsParts(t *testing.T) {
	for name, s := range runbooks(t) {
		rest := s.text
		for _, part := range parts {
			_, after, found := strings.Cut(rest, "\n"+part)
			if !found {
				t.Errorf("%s: no %q, or not in its place", name, part)
				continue
			}
			rest = after
		}
	}
}

// TestRunbooksExplainEveryCause: what the daemon can say of itself has a row.
func TestRunbooksExplainEveryCause(t *testing.T) {
	sections := runbooks(t)
	explained := map[string][]string{
		"IonosEndpointSliceHolding": {
			string(guard.NoNodes), string(guard.NothingPassesFilter), string(guard.NothingStays),
			string(guard.TooManyRemovals), string(guard.ContradictoryRead), string(guard.ProbesSilent), string(guard.NothingPasses),
		},
		"IonosEndpointSliceServiceProblem": {
			string(publish.ServiceMissing), string(publish.ServiceDeleting), string(publish.ServiceHasSelector), string(publish.ServiceExternalName), string(publish.PortMismatch),
		},
		"IonosEndpointSliceNodesDown": {
			string(inventory.ProbeRefused), string(inventory.ProbeTimeout), string(inventory.ProbeUnreachable),
			string(inventory.ProbeStatus), string(inventory.ProbeTLS),
		},
	}
	constant := regexp.MustCompile(`"(?:cause|kind)", "([A-Za-z]+)"`)
	for _, r := range rules(t) {
		for _, made := range constant.FindAllStringSubmatch(r.Expr, -1) {
			if !strings.Contains(sections[r.Alert].text, "`"+made[1]+"`") {
				t.Errorf("%s: does not explain %s", r.Alert, made[1])
			}
		}
	}
	for name, causes := range explained {
		if len(causes) == 0 {
			t.Errorf("%s: no causes to explain", name)
		}
		for _, cause := range causes {
			if !regexp.MustCompile("(?m)^\\| `" + cause + "`.*\\|.*\\|$").MatchString(strings.ReplaceAll(sections[name].text, "` or `", "` | |\n| `")) {
				t.Errorf("%s: no row for %s", name, cause)
			}
		}
	}
}

var (
	quoted  = regexp.MustCompile("`([^`\n]+)`")
	setting = regexp.MustCompile(`\b[A-Z]+(?:_[A-Z]+)+\b`)
	camel   = regexp.MustCompile(`^(?:[A-Z][a-z]+){2,}$`)
)

// TestRunbooksNameOnlyWhatExists: variables, reasons, kinds, causes and Events.
func TestRunbooksNameOnlyWhatExists(t *testing.T) {
	references := ""
	for _, name := range []string{"configuration.md", "endpoint-views-configuration.md", "reasons.md", "metrics.md"} {
		references += read(t, filepath.Join("../../docs/reference", name))
	}
	words := []string{
		string(publish.ServiceMissing), string(guard.NothingPasses), string(guard.NoNodes), string(guard.NothingPassesFilter),
		string(guard.NothingStays), string(guard.TooManyRemovals), string(guard.ContradictoryRead), string(guard.ProbesSilent),
		guard.FailOpen.String(),
		"CrashLoopBackOff", // Kubernetes' own
		v1alpha1.ReasonNameTaken, v1alpha1.ReasonPodsNotReady, v1alpha1.ReasonDeadlineExceeded, v1alpha1.ReasonNotConnected, v1alpha1.ReasonNotAcknowledged,
		v1alpha1.ReasonNotAccepted,
	}
	for _, r := range rules(t) {
		references += strings.ReplaceAll(r.Expr, `"`, "`")
		words = append(words, r.Alert)
	}
	pages := runbookPages(t)
	pages[index] = read(t, filepath.Join(runbooksPath, index))
	for name, page := range pages {
		for _, v := range setting.FindAllString(page, -1) {
			if !strings.Contains(references, "`"+v+"`") {
				t.Errorf("%s: there is no variable %s", name, v)
			}
		}
		for _, q := range quoted.FindAllStringSubmatch(page, -1) {
			if camel.MatchString(q[1]) && !slices.Contains(words, q[1]) && !strings.Contains(references, "`"+q[1]+"`") {
				t.Errorf("%s: nothing is called %s", name, q[1])
			}
		}
	}
}

func TestRunbooksLinkToWhatExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	paths, err := filepath.Glob(filepath.Join(runbooksPath, "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d pages, %v", runbooksPath, len(paths), err)
	}
	for _, path := range paths {
		for _, l := range link.FindAllStringSubmatch(read(t, path), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), l[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
