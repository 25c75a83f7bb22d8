package chart_test

import (
	"os"
	"path/filepath"
	"testing"
)

// tool is the path of a program that tools/build.sh has built.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.tools/bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run `tools/build.sh chart` (or `make test`, which does), or leave these tests out with -short", err)
	}
	return path
}
