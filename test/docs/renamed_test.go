package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// renamed is the page of names that are gone, each with the one that it has now.
const renamed = "docs/reference/renamed.md"

func TestContract216OldNamesOfMetricsAndAlertsAreNowhereElse(t *testing.T) {
	known := append(served(), alerts(t)...)
	old := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:ionos_endpointslice_|endpoint_views_|IonosEndpointSlice|EndpointViews)\\w+)` \\| `(\\w+)`").FindAllStringSubmatch(read(t, renamed), -1) {
		old[row[1]] = true
		if !slices.Contains(known, row[2]) || slices.Contains(known, row[1]) {
			t.Errorf("%s: %s is to be gone, and %s there", renamed, row[1], row[2])
		}
	}
	if len(old) < 50 {
		t.Fatalf("%s: got %d old names", renamed, len(old))
	}
	name := regexp.MustCompile(metric.String() + "|" + alert.String())
	suffix := regexp.MustCompile("_(bucket|count|sum)$")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		relative, _ := filepath.Rel(root, path)
		switch {
		case err != nil || !entry.Type().IsRegular() && !entry.IsDir():
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir(), relative == renamed, relative == "CHANGELOG.md":
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range name.FindAllString(string(text), -1) {
			if old[found] || old[suffix.ReplaceAllString(found, "")] {
				t.Errorf("%s: has the old name %s", relative, found)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
