package inventory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestEncodeIsTheInverseOfDecode(t *testing.T) {
	for _, want := range [][]inventory.Node{
		{},
		{{Name: "w0", Addresses: addrs("10.0.0.1"), Ready: true}},
		{{Name: "w1"}, {ID: "a", Name: "w2", Addresses: addrs("10.0.0.2", "fd00::2"), Zone: "z", Ready: true, Worker: true, Leaving: true}},
	} {
		data, err := inventory.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := inventory.Decode(data)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, data)
		}
		if diff := cmp.Diff(want, got, compareAddrs); diff != "" {
			t.Errorf("nodes (-want +got):\n%s", diff)
		}
	}
}

// A program that knows the short form alone reads what a node of one address is.
func TestEncodeWritesOneAddressInTheShortForm(t *testing.T) {
	got, err := inventory.Encode([]inventory.Node{
		{Name: "one", Addresses: addrs("10.0.0.1"), Ready: true, Worker: true},
		{Name: "two", Addresses: addrs("10.0.0.2", "fd00::2"), Ready: true, Worker: true},
		{Name: "none", Ready: true, Worker: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[
{"name":"one","private_ip":"10.0.0.1","ready":true,"worker":true},
{"name":"two","private_ips":["10.0.0.2","fd00::2"],"ready":true,"worker":true},
{"name":"none","private_ips":[],"ready":true,"worker":true}
]
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

func TestEncodeRefusesWhatDecodeWouldNotGiveBack(t *testing.T) {
	tests := []struct {
		name  string
		nodes []inventory.Node
		want  string
	}{
		{"excluded", []inventory.Node{{Name: "w1", Excluded: true}}, `node "w1"`},
		{"detail", []inventory.Node{{Name: "w1", Detail: "condition Ready is Unknown"}}, `node "w1"`},
		{"no name", []inventory.Node{{}}, `"name" is empty`},
		{"not UTF-8", []inventory.Node{{Name: "w\xff"}}, `"name"`},
		{"an address twice", []inventory.Node{{Name: "w1", Addresses: addrs("10.0.0.1", "10.0.0.1")}}, "listed twice"},
		{"a node twice", []inventory.Node{{Name: "w1"}, {Name: "w1"}}, "record 1 has the same"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data, err := inventory.Encode(test.nodes)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %s, error %v, want an error with %q", data, err, test.want)
			}
		})
	}
}
