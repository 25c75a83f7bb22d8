package e2e_test

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) {
	netns.Enter()
	sideBySide()
	go watchMachine()
	built.Main(m)
}

// sideBySide runs six worlds at the same time if -parallel is not set: they mostly
// wait, so two of them leave two cores idle.
func sideBySide() {
	parallel := flag.Lookup("test.parallel")
	flag.Parse()
	if parallel.Value.String() == parallel.DefValue {
		_ = flag.Set("test.parallel", "6")
	}
}

// TestTheDaemon holds every test that needs the API server: one server serves them
// all.
func TestTheDaemon(t *testing.T) {
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	for _, store := range []string{"client-go", "kubectl"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel() // so that the last test of one store does not run alone
			tests := map[string]func(*testing.T, *world){
				"Contract17To20PublishesThreeNodes":                 publishesThreeNodes,
				"Contract22WritesNothingInAMinuteOfSteadyState":     writesNothingWhenNothingChanges,
				"Contract10TakesADeadBackendDownWithOneWrite":       takesADeadBackendDown,
				"Contract02And13SurvivesABrokenInventory":           survivesABrokenInventory,
				"Contract28RestartsWithoutAWrite":                   restartsWithoutAWrite,
				"Contract28RestartsIntoABrokenWorldWithoutAWrite":   restartsIntoABrokenWorld,
				"Contract28TakesOverStoredSlicesWithoutAWrite":      takesOverStoredSlices,
				"Contract25FillsAServiceThatIsCreatedAnew":          fillsAServiceThatIsCreatedAnew,
				"Contract23RepairsForeignEditsAndLeavesOthersAlone": repairsForeignEdits,
				"Contract30StopsInOrder":                            stopsInOrder,
				"Contract32SurvivesBeingStoppedForAWhile":           survivesBeingStopped,
				"Contract33KeepsItsDescriptors":                     keepsItsDescriptors,
				"Contract31DeadNeighboursFailNoProbe":               deadNeighboursFailNoProbe,
				"Contract31StartsWithoutTheAPIServer":               startsWithoutTheAPIServer,
				"DiffAndExplainSayWhatAndWhy":                       diffAndExplain,
				"Contract15FailsOpenWhenNothingPasses":              failsOpen,
				"Contract19And20PublishesBothFamiliesAndNamedPorts": publishesBothFamilies,
				"OnceWritesAndReportsByItsExitStatus":               once,
				"Contract24NeverDeletesAndDrainsWhatLeaves":         drainsWhatLeaves,
				"EventsTellOfEachChangeWithTheList":                 tellsOfEachChange,
				"Contract25TellsOnceWhatIsWrongWithTheService":      tellsWhatIsWrong,
				"WithoutTheRightToCreateEventsAllElseGoesOn":        goesOnWithoutEvents,
			}
			if store == "client-go" { // the other store is for one Service, or plays no part
				tests["Contract77ManyServicesCostOneWriteEach"] = manyServices
				tests["Contract16TellsOnceThatRemovalsAreHeld"] = tellsThatRemovalsAreHeld
				tests["Contract16TellsOnceThatItFailsOpen"] = tellsThatItFailsOpen
				tests["EventsTellOnceThatTheSourceFails"] = tellsThatTheSourceFails
				tests["ADryRunMakesNoEvents"] = tellsNothingInADryRun
			}
			// In this order the test that takes a minute is not among the last.
			for _, name := range slices.Sorted(maps.Keys(tests)) {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					tests[name](t, newWorld(t, cp, store))
				})
			}
		})
	}
}
