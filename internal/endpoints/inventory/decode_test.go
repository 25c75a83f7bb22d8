package inventory_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

// compareAddrs compares addresses as values; netip.Addr has no exported fields.
var compareAddrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func addrs(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func TestContract02DecodeReadsEveryRecord(t *testing.T) {
	worker := func(name string, addresses ...string) inventory.Node {
		return inventory.Node{Name: name, Addresses: addrs(addresses...), Ready: true, Worker: true}
	}
	tests := []struct {
		name, doc string
		want      []inventory.Node
	}{
		{"the example of the design",
			`[{"name": "target-worker-1", "private_ip": "10.0.0.12", "ready": true, "worker": true}]`,
			[]inventory.Node{worker("target-worker-1", "10.0.0.12")}},
		{"no nodes", `[]`, []inventory.Node{}},
		{"no nodes and white space", " \r\n[\t]\n", []inventory.Node{}},
		{"every key",
			`[{"leaving": true, "id": "a", "zone": "z1", "worker": false, "ready": false, "private_ips": ["10.0.0.1", "fd00::1"], "name": "w1"}]`,
			[]inventory.Node{{ID: "a", Name: "w1", Addresses: addrs("10.0.0.1", "fd00::1"), Zone: "z1", Leaving: true}}},
		{"a node without an address",
			`[{"name": "w1", "private_ips": [], "ready": true, "worker": true}]`,
			[]inventory.Node{worker("w1")}},
		{"an address listed twice is one address, however it is written",
			`[{"name": "w1", "private_ips": ["fd00::1", "10.0.0.1", "fd00:0::0001"], "ready": true, "worker": true}]`,
			[]inventory.Node{worker("w1", "fd00::1", "10.0.0.1")}},
		{"a zone and an IPv4-mapped address are for the filter to refuse",
			`[{"name": "w1", "private_ips": ["fe80::1%eth0", "::ffff:10.0.0.1"], "ready": true, "worker": true}]`,
			[]inventory.Node{worker("w1", "fe80::1%eth0", "::ffff:10.0.0.1")}},
		{"two nodes of one name with ids, and an address that both have",
			`[{"id": "b", "name": "w1", "private_ip": "10.0.0.1", "ready": true, "worker": true},
			  {"id": "a", "name": "w1", "private_ip": "10.0.0.1", "ready": true, "worker": true}]`,
			[]inventory.Node{
				{ID: "b", Name: "w1", Addresses: addrs("10.0.0.1"), Ready: true, Worker: true},
				{ID: "a", Name: "w1", Addresses: addrs("10.0.0.1"), Ready: true, Worker: true},
			}},
		{"a key in escapes", `[{"n\u0061me": "w\u00fc", "private_ip": "10.0.0.1", "ready": true, "worker": true}]`,
			[]inventory.Node{worker("wü", "10.0.0.1")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := inventory.Decode([]byte(test.doc))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, compareAddrs); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if got == nil {
				t.Error("got nil, want a slice: this was a complete read")
			}
		})
	}
}

// The golden file is the table of everything that Decode refuses and of what the
// operator reads then. Read the difference after -update.
func TestContract02And05DecodeRefusesWhatIsNotAnInventory(t *testing.T) {
	paths, err := filepath.Glob("testdata/bad/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	var got strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := inventory.Decode(data)
		if err == nil {
			t.Errorf("%s: accepted", path)
			continue
		}
		if nodes != nil {
			t.Errorf("%s: got %d nodes beside an error, want none", path, len(nodes))
		}
		checkMessage(t, err)
		fmt.Fprintf(&got, "%s\n\t%v\n", strings.TrimSuffix(filepath.Base(path), ".json"), err)
	}
	golden.Check(t, "testdata/bad.golden", got.String(), "go test ./internal/endpoints/inventory -update")
}

// checkMessage checks what holds for every message about any document: it names the
// operation, is short and prints safely.
func checkMessage(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if !strings.HasPrefix(text, "decode inventory: ") {
		t.Errorf("got %q, want the operation first", text)
	}
	if got, want := len(text), 700; got > want {
		t.Errorf("got a message of %d bytes, want at most %d: %.100s", got, want, text)
	}
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			t.Errorf("got %q, want no control characters", text)
		}
	}
}

func TestContract02DecodeRefusesMoreThanMaxBytes(t *testing.T) {
	largest := append([]byte("[]"), bytes.Repeat([]byte(" "), inventory.MaxBytes-2)...)
	if _, err := inventory.Decode(largest); err != nil {
		t.Errorf("%d bytes: %v", len(largest), err)
	}
	_, err := inventory.Decode(append(largest, ' '))
	want := "decode inventory: the document is larger than 8388608 bytes; list fewer nodes, or leave white space out"
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %v", err, want)
	}
}

func TestDecodeFindsTheSecondRecordOfANodeAsSameDoes(t *testing.T) {
	ids, names := []string{"", "a", "b"}, []string{"m", "n"}
	for pair := range 36 {
		first := inventory.Identity{ID: ids[pair%3], Name: names[pair/3%2]}
		second := inventory.Identity{ID: ids[pair/6%3], Name: names[pair/18%2]}
		doc := fmt.Sprintf("[%s,%s]", recordOf(first), recordOf(second))
		_, err := inventory.Decode([]byte(doc))
		if got, want := err != nil, first.Same(second); got != want {
			t.Errorf("%+v and %+v: refused %t, want %t", first, second, got, want)
		}
	}
}

func recordOf(who inventory.Identity) string {
	id := ""
	if who.ID != "" {
		id = fmt.Sprintf(`"id": %q, `, who.ID)
	}
	return fmt.Sprintf(`{%s"name": %q, "private_ips": [], "ready": true, "worker": true}`, id, who.Name)
}
