package report_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory/inventorytest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// namesVariable finds a variable in any text of a document.
var namesVariable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// full is a document every message of which names a setting.
func full(t *testing.T, spelled naming.Spelling) (report.Facts, *report.Document) {
	t.Helper()
	const says = "see HEALTH_CHECK_FALL=3"
	w := newWorld(3).publish()
	status := *w.assess(t)
	status.Verdict.Message, status.Problem = says, publish.Problem{Kind: publish.PortMismatch, Message: says}
	status.Source.LastErr, status.Store.LoadErr, status.Store.WriteErr = errors.New(says), errors.New(says), errors.New(says)
	status.State.Refused, status.State.Beside = []publish.Refusal{{Name: "a", Message: says}}, []publish.ForeignSlice{{Name: "b", Message: says}}
	status.Cycles = []explain.Cycle{{Error: says}}
	health := map[netip.Addr]inventory.Streak{}
	for addr, streak := range status.Health.All() {
		streak.Last.Message = says
		health[addr] = streak
	}
	status.Health = inventorytest.HealthOf(health)
	for i := range status.Findings {
		status.Findings[i].Message = says
	}
	for i := range status.Verdict.Decisions {
		status.Verdict.Decisions[i].Message = says
	}
	f := facts(&status)
	f.Target.Names.Spelling, f.Warnings = spelled, []string{says}
	return f, report.Build(f)
}

func TestNoMessageOfADocumentNamesAVariableThatItsReaderDoesNotHave(t *testing.T) {
	t.Parallel()
	for _, spelled := range []naming.Spelling{naming.Fields, naming.Annotations} {
		f, d := full(t, spelled)
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if found := namesVariable.FindAllString(string(text), -1); found != nil {
			t.Errorf("%s: got %v in %s", spelled, found, text)
		}
		if n := strings.Count(string(text), "spec.healthCheck.fall=3"); n < 12 {
			t.Errorf("%s: got the field %d times, want it in every message: %s", spelled, n, text)
		}
		if f.Warnings[0] != "see HEALTH_CHECK_FALL=3" {
			t.Error("the facts were changed")
		}
		var back report.Document
		if err := json.Unmarshal(text, &back); err != nil || back.Service.Spelling != spelled {
			t.Errorf("got %s back, %v, want %s", back.Service.Spelling, err, spelled)
		}
	}
}

func TestATargetOfVariablesIsSpelledAsBefore(t *testing.T) {
	t.Parallel()
	_, d := full(t, naming.Variables)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(namesVariable.FindAllString(string(text), -1)); n < 12 || strings.Contains(string(text), `"spelling"`) {
		t.Errorf("got %d variables in %s, want one in every message and no word of the spelling", n, text)
	}
}

// A document of a newer daemon has its messages spelled already; what remains is
// that nothing is lost.
func TestASpellingThatOnlyANewerDaemonKnowsIsNoError(t *testing.T) {
	t.Parallel()
	var d report.Document
	err := json.Unmarshal([]byte(`{"message":"see x","service":{"name":"web","spelling":"Sonnet"}}`), &d)
	want := report.Document{PoolState: report.PoolState{ModeState: report.ModeState{Message: "see x"}}, Service: report.Service{Name: "web", Spelling: "Sonnet"}}
	if diff := cmp.Diff(want, d); err != nil || diff != "" {
		t.Errorf("got %v and (-want +got)\n%s", err, diff)
	}
}
