package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/fleettest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

const namesFile = "docs/reference/names.txt"

// TestContract220TheListOfStableNamesIsTheCode asks the code for its names. A name that is missing
// in the list is new and stays from the next release on; one that the code does not have any more
// breaks somebody.
func TestContract220TheListOfStableNamesIsTheCode(t *testing.T) {
	all := names(t)
	text := "Names that stay, see upgrade.md. Where the change of a name is wanted, \"go test ./test/docs -run Contract220 -update\" writes this file.\n"
	for _, title := range slices.Sorted(maps.Keys(all)) {
		if len(all[title]) < 2 {
			t.Errorf("%q: got names %q: are they still found?", title, all[title])
		}
		text += "\n[" + title + "]\n" + strings.Join(all[title], "\n") + "\n"
	}
	golden.Check(t, filepath.Join(root, namesFile), text, "go test ./test/docs -run Contract220 -update")
}

// names are the names that stay, by the title of their list.
func names(t *testing.T) map[string][]string {
	t.Helper()
	lists := map[string][]string{
		"variables":              settings(t),
		"alerts":                 alerts(t),
		"log keys":               logKeys(t),
		"annotations and labels": sources(t, "", `"((?:fleet|endpoints)\.ablmnzde\.github\.io/[a-z-]+)"`, `GroupName \+ "(/[a-z-]+)"`, `(?m)^const \w+ = (?:Label)?Prefix \+ "([a-z-]+)"`),
		"inventory keys":         sources(t, "internal/endpoints/inventory", `(?m)^\tkey[A-Z]\w+ += "(\w+)"`),
		"conditions":             constants(t, "Condition"),
		"reasons":                constants(t, "Reason"),
		"http paths":             sources(t, "internal", `"(?:GET )?(/(?:api/v1/\w|services/|livez|readyz|metrics|configz|style)[^"%?]*)"`),
		"json":                   append(schemaKeys(t, "services"), schemaKeys(t, "status")...),
		"commands":               commandNames(t),
		"go":                     exported(t, "pkg/views"),
	}
	for _, c := range crds(t) {
		lists[strings.ToLower(c.Spec.Names.Kind)] = fields(c)
	}
	_, events, _ := strings.Cut(read(t, "docs/reference/reasons.md"), "\n## Events\n")
	lists["events"] = rows(events)
	for _, doc := range inventory.Reasons() {
		lists["reasons of nodes"] = append(lists["reasons of nodes"], string(doc.Reason))
	}
	for _, f := range metrics.Families() {
		var labels []string
		for _, l := range f.Labels {
			labels = append(labels, l.Name)
		}
		lists["metrics"] = append(lists["metrics"], labelled(f.Name, labels))
	}
	for _, f := range cli.MetricFamilies() {
		lists["metrics"] = append(lists["metrics"], labelled(f.Name, slices.Collect(maps.Keys(f.Labels))))
	}
	for name, labels := range fleettest.MetricFamilies() {
		lists["metrics"] = append(lists["metrics"], labelled(name, slices.Collect(maps.Keys(labels))))
	}
	for _, n := range statuses {
		lists["exit statuses"] = append(lists["exit statuses"], strconv.Itoa(n))
	}
	for title := range lists {
		slices.Sort(lists[title])
		lists[title] = slices.Compact(lists[title])
	}
	return lists
}

func labelled(name string, labels []string) string {
	if len(labels) == 0 {
		return name
	}
	slices.Sort(labels)
	return name + "{" + strings.Join(labels, ",") + "}"
}

// sources are what the expressions find in the code of the programs below a folder. What begins
// with a slash has the API group of its file before it.
func sources(t *testing.T, folder string, expressions ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()), entry.IsDir() && entry.Name() == "test", entry.IsDir() && entry.Name() == "ionostest":
			return fs.SkipDir
		case filepath.Ext(path) != ".go", strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		group := "endpoints.ablmnzde.github.io"
		if strings.Contains(string(data), `/api/fleet/v1alpha1"`) {
			group = "fleet.ablmnzde.github.io"
		}
		for i, e := range expressions {
			for _, m := range regexp.MustCompile(e).FindAllStringSubmatch(string(data), -1) {
				if i > 0 {
					m[1] = group + "/" + strings.TrimPrefix(m[1], "/")
				}
				found = append(found, strings.TrimSuffix(m[1], "/"))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// rows are the first cells of the tables of a text.
func rows(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// constants are the values of the constants of the API whose names begin so.
func constants(t *testing.T, prefix string) []string {
	t.Helper()
	var found []string
	for _, file := range []string{"api/v1alpha1/status.go", "api/fleet/v1alpha1/status.go"} {
		for _, m := range regexp.MustCompile(`(?m)^\t`+prefix+`\w+ += "(\w+)"`).FindAllStringSubmatch(read(t, file), -1) {
			found = append(found, m[1])
		}
	}
	return found
}

// definition is what is read of the definition of a kind.
type definition struct {
	Spec struct {
		Names    struct{ Kind string }
		Versions []struct {
			Schema struct{ OpenAPIV3Schema property }
		}
	}
}

// property is a part of its schema.
type property struct {
	Properties map[string]property
	Items      *property
}

func crds(t *testing.T) []definition {
	t.Helper()
	var all []definition
	for _, path := range []string{"deploy/crds/endpointpools.yaml", "deploy/crds/endpointbindings.yaml", "deploy/fleet/fleet.ablmnzde.github.io_envoys.yaml"} {
		var c definition
		if err := yaml.Unmarshal([]byte(read(t, path)), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// borrowed are fields whose form is Kubernetes'.
var borrowed = []string{"conditions", "namespaceSelector", "resources", "tolerations", "affinity", "topologySpreadConstraints", "imagePullSecrets"}

// fields are the fields of a kind.
func fields(c definition) []string {
	var found []string
	var walk func(path string, p property)
	walk = func(path string, p property) {
		if p.Items != nil {
			path, p = path+"[]", *p.Items
		}
		name := path[strings.LastIndex(path, ".")+1:]
		if len(p.Properties) == 0 || slices.Contains(borrowed, strings.TrimSuffix(name, "[]")) {
			found = append(found, path)
			return
		}
		for name, below := range p.Properties {
			walk(path+"."+name, below)
		}
	}
	for _, version := range c.Spec.Versions {
		for _, part := range []string{"spec", "status"} {
			walk(part, version.Schema.OpenAPIV3Schema.Properties[part])
		}
	}
	return found
}

// schemaKeys are the keys of what the daemon answers, as a schema says.
func schemaKeys(t *testing.T, name string) []string {
	t.Helper()
	var schema any
	if err := yaml.Unmarshal([]byte(read(t, "docs/reference/"+name+".schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var found []string
	var walk func(node any)
	walk = func(node any) {
		switch n := node.(type) {
		case map[string]any:
			if properties, ok := n["properties"].(map[string]any); ok {
				found = slices.AppendSeq(found, maps.Keys(properties))
			}
			for _, below := range n {
				walk(below)
			}
		case []any:
			for _, below := range n {
				walk(below)
			}
		}
	}
	walk(schema)
	return found
}

// commandNames are the commands of both programs with their flags.
func commandNames(t *testing.T) []string {
	t.Helper()
	var found []string
	for name, c := range commands(t) {
		if name != "" && !strings.HasPrefix(name, "help") && !strings.HasPrefix(name, "completion") {
			found = append(found, oneCommand(name, c.flags))
		}
	}
	_, below, _ := strings.Cut(viewsHelp(t, ""), "Available Commands:\n")
	below, _, _ = strings.Cut(below, "\n\n")
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(below, -1) {
		if m[1] != "help" && m[1] != "completion" {
			found = append(found, oneCommand("endpoint-views "+m[1], flagsIn(viewsHelp(t, m[1]))))
		}
	}
	return found
}

func oneCommand(name string, flags []string) string {
	flags = slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f == "--help" || f == "-h" })
	slices.Sort(flags)
	return strings.TrimSpace(name + " " + strings.Join(flags, " "))
}

// exported are the exported names of a package.
func exported(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			found = append(found, declared(d)...)
		}
	}
	return found
}

func declared(d ast.Decl) []string {
	var found []string
	add := func(name string) {
		if ast.IsExported(name[strings.LastIndex(name, ".")+1:]) {
			found = append(found, name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					add(n.Name)
				}
			case *ast.TypeSpec:
				add(s.Name.Name)
				if structure, ok := s.Type.(*ast.StructType); ok && s.Name.IsExported() {
					for _, f := range structure.Fields.List {
						for _, n := range f.Names {
							add(s.Name.Name + "." + n.Name)
						}
					}
				}
			}
		}
	}
	return found
}
