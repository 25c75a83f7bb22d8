package report_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

func TestTheElectionSaysHowManyReplicasLook(t *testing.T) {
	for want, e := range map[string]report.Election{
		"1: the leader (a)":            {Node: "a"},
		"2: the leader (a), pod-2 (b)": {Node: "a", Replicas: []report.Replica{{Name: "pod-2", Node: "b"}}},
		"3: the leader (node not known), pod-2 (node not known), pod-3 (node not known)":                           {Replicas: []report.Replica{{Name: "pod-2"}, {Name: "pod-3"}}},
		"2: the leader (a), pod-2 (b); pod-2 reaches 4 endpoints that the leader does not":                         {Node: "a", Replicas: []report.Replica{{Name: "pod-2", Node: "b", Reaches: 4}}},
		"2: the leader (a), pod-2 (a); all are on one node":                                                        {Node: "a", Replicas: []report.Replica{{Name: "pod-2", Node: "a"}}},
		"3: the leader (a), pod-2 (a), pod-3 (node not known); pod-2 reaches 1 endpoints that the leader does not": {Node: "a", Replicas: []report.Replica{{Name: "pod-2", Node: "a", Reaches: 1}, {Name: "pod-3"}}},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
