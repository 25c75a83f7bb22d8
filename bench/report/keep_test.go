package main // a program has no tests from outside

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASectionThatFailsLosesNothing(t *testing.T) {
	const head, line = "cores: 2\n", "BenchmarkX 1 5 ns/op\n"
	broken := errors.New("broken")
	s := section{name: "x"}
	for name, test := range map[string]struct {
		before, raw, want string
		failed            error
	}{
		"measured":                   {raw: line, want: head + line},
		"measured anew":              {before: "old", raw: line, want: head + line},
		"failed":                     {failed: broken},
		"failed half way":            {raw: line, failed: broken, want: head + "incomplete: yes\n" + line},
		"failed with earlier ones":   {before: "old", raw: line, failed: broken, want: "old"},
		"nothing measured":           {before: "old", raw: "PASS\n", want: "old"},
		"nothing measured, no older": {raw: "PASS\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x-benchmark.txt")
			if test.before != "" {
				if err := os.WriteFile(path, []byte(test.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := s.keep(dir, head, test.raw, test.failed)
			if wantErr := test.failed != nil || !strings.Contains(test.raw, "Benchmark"); (err != nil) != wantErr {
				t.Errorf("got error %v, want one: %t", err, wantErr)
			}
			got, _ := os.ReadFile(path) // none is none
			if string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
