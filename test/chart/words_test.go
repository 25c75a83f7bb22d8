package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWordsNeedNoQuotes: each word of each enumeration arrives as it was written,
// in a values file and by --set, though YAML reads off as false.
func TestWordsNeedNoQuotes(t *testing.T) {
	words := map[variable][]string{}
	most := 0
	for _, v := range variables(t) {
		m := oneOf.FindStringSubmatch(v.meaning)
		if m == nil {
			continue
		}
		words[v] = strings.Split(strings.ReplaceAll(m[1], "`", ""), ", ")
		most = max(most, len(words[v]))
	}
	if len(words) < 5 || most < 5 {
		t.Fatalf("got %v, want every enumeration", words)
	}
	for i := range most {
		want := map[string]string{}
		file, set := "controller:\n", []string{}
		for v, all := range words {
			word := all[i%len(all)]
			want[v.name] = word
			file += fmt.Sprintf("  %s: %s\n", v.key(), word)
			set = append(set, "--set", fmt.Sprintf("controller.%s=%s", v.key(), word))
		}
		values := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(values, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		complete := append(slices.Clone(readme), "--set", "controller.staticNodes=a=10.0.0.1", "--set", "controller.inventoryFilePath=a",
			"--set", "controller.inventoryCommand=a", "--set", "controller.leaderElection=false", "--set", "replicaCount=1")
		for _, version := range helms {
			for way, args := range map[string][]string{"file": {"--values", values}, "set": set} {
				t.Run(fmt.Sprint(i, "/", way, "/", version), func(t *testing.T) {
					t.Parallel()
					env := environment(daemonPod(t, documents(t, render(t, version, slices.Concat(args, complete)...))).Containers[0])
					for name, word := range want {
						if env[name] != word {
							t.Errorf("%s: got %q, want %q", name, env[name], word)
						}
					}
				})
			}
		}
	}
}

// TestEveryFalseSwitchesTheHealthCheckOff: every word that YAML reads as false does,
// but true is no mode.
func TestEveryFalseSwitchesTheHealthCheckOff(t *testing.T) {
	for _, version := range helms {
		for _, word := range []string{"off", "Off", "no", "false"} {
			values := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(values, []byte("controller:\n  healthCheckMode: "+word+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			env := environment(daemonPod(t, documents(t, render(t, version, slices.Concat(readme, []string{"--values", values})...))).Containers[0])
			if got := env["HEALTH_CHECK_MODE"]; got != "off" {
				t.Errorf("%s: healthCheckMode: %s: got %q, want off", version, word, got)
			}
		}
		got := helm(t, version, append([]string{"template", "edge", chartDir, "--set", "controller.healthCheckMode=true"}, readme...)...)
		if !got.failed || !strings.Contains(got.stderr, "healthCheckMode") {
			t.Errorf("%s: healthCheckMode: true: got %v, %s", version, got.failed, got.stderr)
		}
	}
}
