package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// renamed is the page that ends with names that are gone, each with the one that it has now;
// oldNames is the heading of that part.
const renamed, oldNames = "docs/how-to/from-the-original.md", "\n## Names before the first release\n"

func TestContract216OldNamesOfMetricsAndAlertsAreNowhereElse(t *testing.T) {
	known := append(served(), alerts(t)...)
	old := make(map[string]bool)
	_, list, _ := strings.Cut(read(t, renamed), oldNames)
	for _, row := range regexp.MustCompile(`(?m)^((?:ionos_endpointslice_|endpoint_views_|IonosEndpointSlice|EndpointViews)\w+) +(\w+)`).FindAllStringSubmatch(list, -1) {
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
		case entry.IsDir(), relative == "CHANGELOG.md":
			return nil
		}
		text, err := os.ReadFile(path)
		if relative == renamed {
			text, _, _ = bytes.Cut(text, []byte(oldNames))
		}
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
