package chart_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

const referencePath = "../../docs/reference/configuration.md"

// variable is a row of the configuration's reference.
type variable struct {
	section, name, fallback, meaning string
}

// key is what the chart calls it: HEALTH_CHECK_INTERVAL is healthCheckInterval.
func (v variable) key() string {
	words := strings.Split(strings.ToLower(v.name), "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// inDocuments reports whether a pool or a binding has a field for it.
func (v variable) inDocuments() bool {
	return slices.ContainsFunc(naming.All(), func(s naming.Setting) bool {
		return s.Field != "" && (s.Variable == v.name || s.Variable+"_FILE" == v.name)
	})
}

// namesFolder reports whether it says where documents are.
func (v variable) namesFolder() bool { return v.section == "Documents" }

var (
	heading = regexp.MustCompile(`^##+ (.+)$`)
	row     = regexp.MustCompile("^\\| `([A-Z_]+)`(?: or `([A-Z_]+_FILE)`)? \\| (.*?) \\| (.*) \\|$")
)

// variables reads the reference. Of a secret it returns the twin that names a
// file: values of a chart are no place for secrets.
func variables(t *testing.T) []variable {
	t.Helper()
	page, err := os.ReadFile(referencePath)
	if err != nil {
		t.Fatal(err)
	}
	var found []variable
	section := ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if title := heading.FindStringSubmatch(line); title != nil {
			section = title[1]
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[1] == "NODE_NAME" {
			continue // the Pod knows it
		}
		v := variable{section: section, name: m[1], fallback: m[3], meaning: m[4]}
		if m[2] != "" {
			v.name, v.meaning = m[2], "File with the "+strings.ToLower(v.meaning[:1])+v.meaning[1:]
		}
		found = append(found, v)
	}
	if len(found) < 40 {
		t.Fatalf("%s: got %d variables, want every row", referencePath, len(found))
	}
	return found
}
