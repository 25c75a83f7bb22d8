package report_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

func TestEveryListAndEveryTargetFitsItsSchema(t *testing.T) {
	t.Parallel()
	list, document := compiled(t, servicesPath), compiled(t, schemaPath)
	p := various(t)
	status := good(t)
	status.Verdict.Mode, status.Verdict.Cause, status.Verdict.Removal = guard.Hold, guard.NoNodes, guard.Removal{Endpoints: 1, Inventories: 2, At: time.Now()}
	p.pool("red", status).pool("grey", status)
	p.target("shop", "f", "red", "grey")
	planned, runs := p.last()
	planned.Uses[0].Next = &assign.Use{}
	planned.Uses[1].State = assign.Emptied
	runs.Problem = "it has a target already"
	runs.Fills[0].State.Problem = publish.Problem{Kind: publish.PortMismatch, Message: "no port"}
	p.Snapshot.Pools[0].Problem, p.Snapshot.Pools[0].Warnings, p.Snapshot.Groups[0].Problem = "no token", []string{"odd"}, "no authority"
	p.Snapshot.Plan.Kept = "many vanished"
	p.Snapshot.Plan.Lost = []assign.PublishedSlice{{Key: planned.Key, Pool: "gone", Slice: "f.gone", Endpoints: 2}}
	p.Snapshot.Documents.Entries = slices.Delete(p.Snapshot.Documents.Entries, 0, 1)
	p.Snapshot.Documents.Mistakes = []documents.Mistake{{File: "a.yaml", Rule: "is empty", Remedy: "write something"}}
	all := p.Services(report.Query{})
	all.ByItself("loop: no pass for 30s", nil)
	fits(t, list, all)
	for _, target := range all.Services {
		if target.Condition != report.Refused {
			fits(t, document, p.one(target.Namespace, target.Service))
		}
	}
	fits(t, list, report.Process{Snapshot: &controller.Snapshot{}}.Services(report.Query{}))
	variables := ofVariables(t, good(t))
	fits(t, list, variables.Services(report.Query{}))
	fits(t, document, variables.one("default", "web"))
	vanished := all.Pools[0]
	if !vanished.Vanished || vanished.Problem == "" || vanished.Groups[0].Problem == "" {
		t.Errorf("got pool %+v, want a vanished one with its problems", vanished)
	}
}

func TestTheSchemaOfTheListHasEveryWord(t *testing.T) {
	t.Parallel()
	schema, status := readSchema(t, servicesPath), readSchema(t, schemaPath)
	var conditions []string
	for _, c := range report.ServiceConditions()[1:] {
		conditions = append(conditions, string(c))
	}
	for name, got := range map[string][]string{
		"the whole": schema.Properties["condition"].Enum, "a pool": schema.Defs["pool"].Properties["condition"].Enum,
		"a group": schema.Defs["group"].Properties["condition"].Enum, "a Service": schema.Defs["serviceStatus"].Properties["condition"].Enum,
		"a count": schema.Defs["conditionCount"].Properties["condition"].Enum,
	} {
		if diff := cmp.Diff(conditions, got); diff != "" {
			t.Errorf("condition of %s (-want +got):\n%s", name, diff)
		}
	}
	states := []string{string(report.Active), string(report.Waiting), string(report.Leaving), string(report.Kept), string(report.Emptied)}
	for name, got := range map[string][]string{
		"the list": schema.Defs["poolUse"].Properties["state"].Enum, "a document": status.Defs["poolPart"].Properties["state"].Enum,
	} {
		if diff := cmp.Diff(states, got); diff != "" {
			t.Errorf("states in %s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{"source", "remoteService", "stages", "problem", "refusal", "notice", "removal", "election", "program"} {
		if diff := cmp.Diff(status.Defs[name], schema.Defs[name]); diff != "" {
			t.Errorf("%s is described in two ways:\n%s", name, diff)
		}
	}
}
