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

// sections are what a person on call looks for, in this order.
var sections = []string{"**Meaning.**", "**Impact.**", "## First five minutes", "## Causes and remedies", "## When it clears", "## False alarms"}

// runbooks returns the text of each runbook by name, without the index.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(runbooksPath, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]string)
	for _, path := range paths {
		if name := filepath.Base(path); name != index {
			pages[strings.TrimSuffix(name, ".md")] = read(t, path)
		}
	}
	return pages
}

func TestEveryAlertHasARunbookAndEveryRunbookAnAlert(t *testing.T) {
	pages := runbooks(t)
	for name := range pages {
		if !slices.Contains(alerts(t), name) {
			t.Errorf("%s: there is no alert %s", runbooksPath, name)
		}
	}
	overview := read(t, filepath.Join(runbooksPath, index))
	for _, r := range rules(t) {
		page, ok := pages[r.Alert]
		if !ok {
			t.Errorf("%s: no page for %s", runbooksPath, r.Alert)
			continue
		}
		if !strings.HasPrefix(page, "# "+r.Alert+"\n") {
			t.Errorf("%s: does not begin with its name", r.Alert)
		}
		if row := regexp.MustCompile(`\| \[` + r.Alert + `\]\(` + r.Alert + `\.md\) \| ([^|]*) \|`).FindStringSubmatch(overview); row == nil || !strings.Contains(row[1], r.Labels["severity"]) {
			t.Errorf("%s: the index does not have it with its severity %s", r.Alert, r.Labels["severity"])
		}
		if _, anchor, found := strings.Cut(r.Annotations["runbook_url"], "#"); found {
			wantAnchors(t, r.Alert, page, anchor)
		}
		meaning, _, _ := strings.Cut(page, "**Impact.**")
		if !strings.Contains(meaning, r.Labels["severity"]) {
			t.Errorf("%s: the meaning does not say that it can be %s", r.Alert, r.Labels["severity"])
		}
	}
}

// wantAnchors fails where a page has no heading for what a rule leads to: a word, or each value of
// the label credential.
func wantAnchors(t *testing.T, name, page, anchor string) {
	t.Helper()
	anchors := []string{anchor}
	if anchor == "{{ $labels.credential }}" {
		anchors = credentials(t)
	}
	for _, anchor := range anchors {
		if !strings.Contains(strings.ToLower(page), "\n### "+anchor+"\n") {
			t.Errorf("%s: no heading for #%s", name, anchor)
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

func TestEveryRunbookHasItsSections(t *testing.T) {
	for name, page := range runbooks(t) {
		rest := page
		for _, section := range sections {
			_, after, found := strings.Cut(rest, "\n"+section)
			if !found {
				t.Errorf("%s: no %s, or not in its place", name, section)
				continue
			}
			rest = after
		}
	}
}

// TestRunbooksExplainEveryCause: what the daemon can say of itself has a row.
func TestRunbooksExplainEveryCause(t *testing.T) {
	pages := runbooks(t)
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
			if !strings.Contains(pages[r.Alert], "`"+made[1]+"`") {
				t.Errorf("%s: does not explain %s", r.Alert, made[1])
			}
		}
	}
	for name, causes := range explained {
		if len(causes) == 0 {
			t.Errorf("%s: no causes to explain", name)
		}
		for _, cause := range causes {
			if !regexp.MustCompile("(?m)^\\| `" + cause + "`.*\\|.*\\|$").MatchString(strings.ReplaceAll(pages[name], "` or `", "` | |\n| `")) {
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
	for _, name := range []string{"configuration.md", "endpoint-views-configuration.md", "reasons.md", "events.md", "metrics.md"} {
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
	}
	pages := runbooks(t)
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
	for _, dir := range []string{runbooksPath, monitoringPath} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.md"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d pages, %v", dir, len(paths), err)
		}
		for _, path := range paths {
			for _, l := range link.FindAllStringSubmatch(read(t, path), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), l[1])); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
	}
}
