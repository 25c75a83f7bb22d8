package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

func TestThePageHoldsEveryScenarioOnceInItsGroup(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for i, f := range []traffic.Figures{
		{Scenario: "changes/API server restarted, file", Text: "it|ends", Requests: 3, Lost: 1, Buckets: []traffic.Bucket{{OK: 2, Lost: 1}}},
		{Scenario: "rotation/static", Requests: 2, Facts: []traffic.Fact{{Name: "slice writes", Value: "5"}}},
		{Scenario: "crash/daemon", Requests: 2},
		{Scenario: "wires/latency", Requests: 2},
		{Scenario: "rotation/file"},
	} {
		f.Began = time.Unix(int64(i), 0)
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(from, string(rune('a'+i))+".json"), string(data))
	}
	write(t, filepath.Join(to, "traffic-of-old.svg"), "")
	if err := run(from, to); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to, "traffic.md"))
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		"In all 9 requests",
		"## Planned rotation", "| static |  | 2 | 0 | slice writes: 5 |", "| file |  | 0 | 0 |  |",
		"## Planned changes", `| API server restarted, file | it\|ends | 3 | 1 |`,
		"## A backend dies", "(traffic-crash-daemon.svg)",
		"## Wires", "| latency |",
	} {
		found := strings.Index(string(text)[at:], want)
		if found < 0 {
			t.Fatalf("no %q after what is wanted before it, in\n%s", want, text)
		}
		at += found
	}
	for folder, want := range map[string]int{to: 1, from: 4} { // figures of scenarios with requests
		if pictures, err := filepath.Glob(filepath.Join(folder, "*.svg")); err != nil || len(pictures) != want {
			t.Errorf("got the pictures %v, %v, want %d", pictures, err, want)
		}
	}
}

func TestWithoutFiguresThereIsNoPage(t *testing.T) {
	to := t.TempDir()
	if err := run(t.TempDir(), to); err == nil {
		t.Error("got no error")
	}
	if left, _ := os.ReadDir(to); len(left) > 0 {
		t.Errorf("got %v, want nothing written", left)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
