package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTellSpeaksTheDaemonsWords(t *testing.T) {
	tests := []struct{ line, want string }{
		{
			`{"time":"t","level":"INFO","msg":"endpoint changed","address":"10.0.0.1","node":"w1","from":"ready","to":"down","reason":"ProbeRefused","message":"failed 3 times"}`,
			"w1 (10.0.0.1): ready -> down, ProbeRefused: failed 3 times",
		},
		{`{"msg":"mode changed","from":"Publish","to":"Hold","reason":"NoNodes","message":"no node"}`, "mode: Publish -> Hold, NoNodes: no node"},
		{`{"msg":"mode changed","from":"Hold","to":"Publish","reason":"NoNodes","message":"over"}`, "mode: Hold -> Publish, NoNodes: over"},
		{`{"msg":"slice written","slice":"a","operation":"update","endpoints":3,"added":0,"removed":1,"changed":2}`, "slice written: update a, 3 endpoints: 1 removed, 2 changed"},
		{`{"msg":"source recovered","level":"INFO","nodes":3,"a":true}`, "source recovered a=true nodes=3"},
		{"Error: no JSON", "Error: no JSON"},
		{`{"msg":"listening","admin_address":"127.0.0.1:4711","metrics_address":"127.0.0.1:4712"}`, "status page: http://127.0.0.1:4711/ as long as this runs"},
	}
	for _, test := range tests {
		if got := tell(test.line); got != test.want {
			t.Errorf("tell(%s)\ngot  %s\nwant %s", test.line, got, test.want)
		}
	}
}

func TestNewestEndpointsReadsEachSliceAsItWasPrintedLast(t *testing.T) {
	const one = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
endpoints:
- addresses: [10.0.0.1]
  conditions: {ready: true, serving: true, terminating: false}
`
	const two = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
endpoints:
- addresses: [10.0.0.2]
  conditions: {ready: false, serving: true, terminating: true}
- addresses: [10.0.0.3]
  conditions: {ready: false, serving: false, terminating: false}
`
	printed := header + "a created: +1\nmetadata: {name: a}\n" + two + header + "b created: +1\nmetadata: {name: b}\n" + two +
		header + "a updated: +1\nmetadata: {name: a}\n" + one
	got, err := newestEndpoints([]byte(printed))
	want := map[string]string{"10.0.0.1": ready, "10.0.0.2": draining, "10.0.0.3": down}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("got error %v, endpoints (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "apiVersion: v1\n", header + "a created\nno: slice\n"} {
		if got, err := newestEndpoints([]byte(bad)); err == nil {
			t.Errorf("got %v of %q, want an error", got, bad)
		}
	}
}

func TestWrapKeepsToTheWidth(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"one two  three", "one two|three"},
		{"a verylongword", "a|verylong|word"},
		{"äöü äöü äöü", "äöü äöü|äöü"},
	}
	for _, test := range tests {
		if got := strings.Join(wrap(test.text, 8), "|"); got != test.want {
			t.Errorf("wrap(%q): got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestColoursAreUsedWhereTheyAreWantedOnly(t *testing.T) {
	if got := (printer{}).paint("x", red); got != "x" {
		t.Errorf("got %q, want x", got)
	}
	if got := (printer{colour: true}).paint("x", red); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q, want x in red", got)
	}
}

func TestAChangeCountsWhenTheSlicesAndTheLogSayIt(t *testing.T) {
	w := newWorld()
	w.endpoints = map[string]string{"10.0.0.1": ready}
	if w.is("10.0.0.1", ready) || w.allReady([]string{"10.0.0.1"}) {
		t.Error("a change counts that the log has not told yet")
	}
	w.changes["10.0.0.1"] = change{to: ready}
	if !w.is("10.0.0.1", ready) || !w.allReady([]string{"10.0.0.1"}) {
		t.Error("a change does not count that the slices and the log tell")
	}
	w.changes["10.0.0.2"] = change{to: draining}
	if w.allReady([]string{"10.0.0.1"}) {
		t.Error("an endpoint counts as gone before the log says so")
	}
}
