package inventory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// FuzzDecode checks that every document that Decode refuses gets a message fit to
// print, and that every document that it accepts keeps the rules, means the same to
// encoding/json, and survives Encode.
func FuzzDecode(f *testing.F) {
	paths, err := filepath.Glob("testdata/bad/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`[{"name": "w1", "private_ip": "10.0.0.12", "ready": true, "worker": true}]`))
	f.Add([]byte(`[{"leaving": false, "id": "a", "zone": "z1", "worker": false, "ready": false, "private_ips": ["10.0.0.1", "fe80::1%e"], "name": "w1"}]`))
	f.Add([]byte(" [ {\"id\":\"a\",\"name\":\"w\",\"private_ips\":[],\"ready\":true,\"worker\":true},\n{\"id\":\"b\",\"name\":\"w\",\"private_ip\":\"::ffff:1.2.3.4\",\"ready\":true,\"worker\":true} ]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := inventory.Decode(data)
		if err != nil {
			checkMessage(t, err)
			return
		}
		checkRules(t, nodes)
		checkAgainstStandardLibrary(t, data, nodes)
		again, err := inventory.Encode(nodes)
		if err != nil {
			t.Fatal(err)
		}
		back, err := inventory.Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(nodes, back, compareAddrs); diff != "" {
			t.Errorf("after Encode (-want +got):\n%s", diff)
		}
	})
}

func checkRules(t *testing.T, nodes []inventory.Node) {
	t.Helper()
	if nodes == nil {
		t.Error("got nil without an error")
	}
	for i, node := range nodes {
		if node.Name == "" || len(node.Name) > 253 || len(node.ID) > 253 || len(node.Zone) > 63 {
			t.Errorf("got texts out of bounds: %+v", node)
		}
		for _, c := range node.Name + node.ID + node.Zone {
			if unicode.IsControl(c) {
				t.Errorf("got a control character: %q", node.Name+node.ID+node.Zone)
			}
		}
		for _, addr := range node.Addresses {
			if !addr.IsValid() {
				t.Errorf("got an invalid address: %+v", node)
			}
		}
		for _, other := range nodes[:min(i, 50)] {
			if node.Identity().Same(other.Identity()) {
				t.Errorf("got two records of %+v", node)
			}
		}
	}
}

func checkAgainstStandardLibrary(t *testing.T, data []byte, nodes []inventory.Node) {
	t.Helper()
	var records []map[string]any
	if err := json.Unmarshal(data, &records); err != nil {
		t.Fatalf("accepted what encoding/json refuses: %v", err)
	}
	if got, want := len(nodes), len(records); got != want {
		t.Fatalf("got %d nodes, want %d", got, want)
	}
	for i, want := range records {
		got := nodes[i]
		id, _ := want["id"].(string)
		zone, _ := want["zone"].(string)
		leaving, _ := want["leaving"].(bool)
		if got.Name != want["name"] || got.Ready != want["ready"] || got.Worker != want["worker"] ||
			got.ID != id || got.Zone != zone || got.Leaving != leaving {
			t.Errorf("got %+v, want %v", got, want)
		}
	}
}
