package ionos_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// pooled is a managed cluster of three nodes in two node pools.
func pooled(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	c.SetServers(machine(1, "web-a", "10.0.0.1"), machine(2, "web-b", "10.0.0.2"), machine(3, "db-a", "10.0.0.3"))
	c.SetNodes(
		ionostest.Node{ID: serverID(1), Name: "web-a", Pool: "web"}, ionostest.Node{ID: serverID(2), Name: "web-b", Pool: "web"},
		ionostest.Node{ID: serverID(3), Name: "db-a", Pool: "db"},
	)
	c.SetPools(
		ionostest.Pool{Name: "web", Labels: map[string]string{"pool": "web", "tier": "front"}, Zone: "ZONE_1"},
		ionostest.Pool{Name: "db", Labels: map[string]string{"tier": "back"}},
	)
	return c
}

func TestTheSelectorChoosesManagedNodesByTheirNodePool(t *testing.T) {
	for selector, want := range map[string]string{
		"":                                "db-a web-a web-b",
		"pool=none":                       "",
		"pool=web":                        "web-a web-b",
		"!pool":                           "db-a",
		"tier in (front, back),pool!=web": "db-a",
		"endpoints.ablmnzde.github.io/node-pool=db":                "db-a",
		"endpoints.ablmnzde.github.io/node-pool!=db":               "web-a web-b",
		"kubernetes.io/hostname=web-b":                             "web-b",
		"topology.kubernetes.io/zone=ZONE_1":                       "web-a web-b",
		"topology.kubernetes.io/zone=AUTO":                         "db-a",
		"enterprise.cloud.ionos.com/node-id=" + serverID(3):        "db-a",
		"enterprise.cloud.ionos.com/datacenter-id=" + datacenter:   "db-a web-a web-b",
		"!node-role.kubernetes.io/control-plane":                   "db-a web-a web-b",
		"!node.kubernetes.io/exclude-from-external-load-balancers": "db-a web-a web-b",
	} {
		t.Run(selector, func(t *testing.T) {
			c := pooled(t)
			var workers []string
			for _, node := range read(t, c.source(t, nil, func(o *ionos.Options) { o.Selector = selector })) {
				if node.Worker {
					workers = append(workers, node.Name)
					continue
				}
				pool, _, _ := strings.Cut(node.Name, "-")
				if want := "the labels of its node pool " + pool + " do not match SECURED_NODE_SELECTOR="; !strings.Contains(node.Detail, want) {
					t.Errorf("%s: got detail %q, want %q", node.Name, node.Detail, want)
				}
			}
			if got := strings.Join(workers, " "); got != want {
				t.Errorf("got workers %q, want %q", got, want)
			}
		})
	}
}

func TestManagedNodesHaveTheZoneAndTheExclusionOfTheirNodePool(t *testing.T) {
	c := pooled(t)
	c.SetPools(
		ionostest.Pool{Name: "web", Labels: map[string]string{"node.kubernetes.io/exclude-from-external-load-balancers": ""}, Zone: "ZONE_1"},
		ionostest.Pool{Name: "db", Zone: "AUTO"}, // IONOS chose, and does not say what
	)
	type facts struct {
		Zone             string
		Worker, Excluded bool
	}
	got := map[string]facts{}
	for _, node := range read(t, c.source(t, nil)) {
		got[node.Name] = facts{node.Zone, node.Worker, node.Excluded}
	}
	want := map[string]facts{"web-a": {"ZONE_1", true, true}, "web-b": {"ZONE_1", true, true}, "db-a": {"", true, false}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Without a selector the labels decide only the exclusion, and an answer without
// labels counts as one with none set.
func TestContract02ASelectorNeedsTheLabelsOfEveryNodePool(t *testing.T) {
	c := pooled(t)
	plain := c.source(t, nil)
	selecting := c.source(t, nil, func(o *ionos.Options) { o.Selector = "tier=front" })
	for _, field := range []string{"labels", "datacenterId"} {
		c.Break(ionostest.Fault{Kind: ionostest.Incomplete, On: "/nodepools", Lacks: "items.properties." + field})
		read(t, plain)
		if err := readError(t, selecting); !strings.Contains(err.Error(), "node pool db has no properties."+field) {
			t.Errorf("got error %v, want the node pool and the field", err)
		}
	}
}

func TestASelectorThatIsNoneIsRefused(t *testing.T) {
	options := newCloud(t).options()
	options.Selector = "pool=("
	if _, err := ionos.New(options); err == nil || !strings.Contains(err.Error(), "SECURED_NODE_SELECTOR=pool=(") {
		t.Errorf("got error %v, want the variable and its value", err)
	}
}

func TestContract02ANodeThatIsListedTwiceIsNoAnswer(t *testing.T) {
	for _, pool := range []string{"web", "db"} {
		c := pooled(t)
		c.SetNodes(ionostest.Node{ID: serverID(1), Name: "web-a", Pool: "web"}, ionostest.Node{ID: serverID(1), Name: "web-a", Pool: pool})
		if err := readError(t, c.source(t, nil)); !strings.Contains(err.Error(), "node "+serverID(1)+" is listed before") {
			t.Errorf("in %s: got error %v, want the node", pool, err)
		}
	}
}
