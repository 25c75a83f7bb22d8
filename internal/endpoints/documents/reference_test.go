package documents_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

const (
	types = "../../../api/v1alpha1"
	page  = "../../../docs/reference/documents.md"
)

// source is the types as their files say.
type source struct {
	structs map[string]*ast.StructType
	words   map[string]*ast.TypeSpec
	docs    map[string]string
	markers map[string]string // comments with the markers, of types
}

func parseTypes(t *testing.T) source {
	t.Helper()
	s := source{structs: map[string]*ast.StructType{}, words: map[string]*ast.TypeSpec{}, docs: map[string]string{}, markers: map[string]string{}}
	for _, name := range []string{"pool.go", "policy.go", "binding.go", "status.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), types+"/"+name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				named, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				s.docs[named.Name.Name], _ = prose(general.Doc)
				s.markers[named.Name.Name] = general.Doc.Text()
				if fields, ok := named.Type.(*ast.StructType); ok {
					s.structs[named.Name.Name] = fields
				} else {
					s.words[named.Name.Name] = named
				}
			}
		}
	}
	return s
}

// prose is the first paragraph of a comment, without its markers, and details are the others.
func prose(group *ast.CommentGroup) (text, details string) {
	var lines []string
	for line := range strings.Lines(group.Text()) {
		if !strings.HasPrefix(line, "+") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	text, details, _ = strings.Cut(strings.TrimSpace(strings.Join(lines, "\n")), "\n\n")
	return strings.ReplaceAll(text, "\n", " "), strings.Join(strings.Fields(details), " ")
}

// field is one row of the page, and a line below its table if there are details.
type field struct {
	path, kind, fallback, limits, meaning, details string
	required                                       bool
}

// fields lists all fields of a struct and below it.
func (s source) fields(name, path string) []field {
	var all []field
	for _, f := range s.structs[name].Fields.List {
		tag, _, _ := strings.Cut(regexp.MustCompile(`json:"([^"]*)"`).FindStringSubmatch(f.Tag.Value)[1], ",")
		if tag == "" || tag == "metadata" {
			continue
		}
		kind, list := typeOf(f.Type)
		row := field{path: path + tag, kind: kindOf(kind, list)}
		row.meaning, row.details = prose(f.Doc)
		markers := f.Doc.Text() + s.markers[kind]
		row.required = !strings.Contains(f.Doc.Text(), "+optional")
		row.fallback, row.limits = marker(markers, "+kubebuilder:default=")+marker(markers, "+fallback="), limitsOf(markers)
		if _, isWord := s.words[kind]; isWord {
			row.kind = "word"
		}
		all = append(all, row)
		if _, isStruct := s.structs[kind]; isStruct {
			below := row.path + "."
			if list {
				below = row.path + "[]."
			}
			all = append(all, s.fields(kind, below)...)
		}
	}
	return all
}

// typeOf names the type of a field, and says whether it is a list of it.
func typeOf(expression ast.Expr) (name string, list bool) {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return typeOf(e.X)
	case *ast.ArrayType:
		name, _ = typeOf(e.Elt)
		return name, true
	case *ast.SelectorExpr:
		return e.Sel.Name, false
	case *ast.Ident:
		return e.Name, false
	}
	return "", false
}

func kindOf(name string, list bool) string {
	kind, known := map[string]string{
		"string": "text", "int32": "number", "int64": "number", "bool": "true, false", "Duration": "duration",
		"LabelSelector": "label selector", "Condition": "condition",
	}[name]
	if !known {
		kind = "group"
	}
	if list {
		kind = "list of " + strings.TrimSuffix(kind, "s") + "s"
	}
	return kind
}

func marker(text, prefix string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// limitsOf puts the markers of limits into words.
func limitsOf(text string) string {
	var limits []string
	for _, pair := range [][3]string{{"Minimum", "Maximum", ""}, {"MinLength", "MaxLength", " characters"}, {"MinItems", "MaxItems", " entries"}} {
		least, most := marker(text, "+kubebuilder:validation:"+pair[0]+"="), marker(text, "+kubebuilder:validation:"+pair[1]+"=")
		switch {
		case least != "" && most != "":
			limits = append(limits, least+" to "+most+pair[2])
		case most != "":
			limits = append(limits, "at most "+most+pair[2])
		case least != "":
			limits = append(limits, "at least "+least+pair[2])
		}
	}
	if words := marker(text, "+kubebuilder:validation:Enum="); words != "" {
		limits = append(limits, "`"+strings.ReplaceAll(words, ";", "`, `")+"`")
	}
	if own := marker(text, "+limits="); own != "" {
		limits = append(limits, own)
	}
	return strings.Join(limits, "; ")
}

const head = "<!-- Generated from api/v1alpha1 by \"go generate ./internal/endpoints/documents\". Do not edit. -->\n" + `
# Documents

An ` + "`EndpointPool`" + ` says which nodes of a remote cluster may back Services, and who may use which ports of them. An ` + "`EndpointBinding`" + ` fills the Service of its name from pools. ` + "`DOCUMENTS_DIR`" + ` names the folder that holds them, in files that end in ` + "`.yaml`, `.yml` or `.json`" + `; a file may hold several, with ` + "`---`" + ` between them.

- Everything that a document does not allow is forbidden. A pool without ` + "`spec.allow`" + ` backs no Service.
- A binding chooses among what its pools allow. It names no address, no subnet, no program and no credential.
- All mistakes are reported together, each with file, line, field, rule and remedy: ` + "`config validate`" + ` and ` + "`check --only documents`" + ` print them.
- ` + "`config show -o documents`" + ` prints the variables of an installation as documents that decide the same, and with ` + "`DOCUMENTS_DIR`" + ` the documents with their defaults.
- The files are read again when they change. A document that is invalid, forbidden, in a file that cannot be read, or there twice keeps its last good version. It is gone only when every file could be read and none holds it. To remove the last document, leave an empty file: an empty folder counts as a volume that is not mounted.
- A revocation is no mistake: what a valid pool no longer allows takes effect.
- Namespaces in one entry of ` + "`spec.allow`" + ` trust each other on its ports: each may send traffic to what the others run there.
- With ` + "`DOCUMENTS_API=true`" + ` the same documents are objects of the API server, without ` + "`spec.source.file`" + ` and ` + "`spec.source.command`" + `. It refuses mistakes when they are written, drops unknown fields or, as kubectl asks it to, refuses them, and fills in defaults. Their status, which files do not have, is below. ` + "`kubectl get epool`" + ` and ` + "`kubectl get ebind -A`" + ` list them ([how to](../how-to/many-services.md#pools-and-bindings-in-the-api-server)).
- A duration is a number with a unit: ` + "`500ms`, `30s`, `2m`" + `, at most 32 characters. Enumerations are words, and numbers have no quotes. Ports in ` + "`spec.allow`" + ` are text, because they may be ranges.

`

func (s source) page() string {
	var text strings.Builder
	text.WriteString(head + "```yaml\n" + full + "```\n")
	for _, kind := range []string{"EndpointPool", "EndpointBinding"} {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n", kind, s.docs[kind])
		for i, part := range []string{"spec", "status"} {
			text.WriteString([]string{"", "\n"}[i])
			fmt.Fprintf(&text, "### %s of %s\n\n| field | type | default | limits | meaning |\n|---|---|---|---|---|\n", strings.ToUpper(part[:1])+part[1:], kind)
			var details strings.Builder
			for _, f := range s.fields(kind, "") {
				if !strings.HasPrefix(f.path, part+".") {
					continue
				}
				if f.details != "" {
					fmt.Fprintf(&details, "\n- `%s`: %s", f.path, f.details)
				}
				fallback := f.fallback
				switch {
				case fallback != "":
					fallback = "`" + fallback + "`"
				case f.required && part == "spec":
					fallback = "**required**"
				}
				fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s |\n", f.path, f.kind, fallback, f.limits, f.meaning)
			}
			if details.Len() > 0 {
				fmt.Fprintf(&text, "%s\n", details.String())
			}
		}
	}
	return text.String() + conditions + annotations
}

const conditions = `
## Conditions

` + "`Accepted`" + ` says that the document is valid and permitted, ` + "`SourceReady`" + ` that the source of a pool can be read, ` + "`Programmed`" + ` that the slices of a binding are as decided, ` + "`Ready`" + ` that an endpoint of a binding gets traffic. ` + "`Held`" + ` says that the published endpoints differ from what was seen. A version with ` + "`Accepted=False`" + ` does not take effect: the last good version stays. When all is well the reasons are ` + "`Accepted`" + `, ` + "`Read`" + `, ` + "`Programmed`" + `, ` + "`EndpointsReady`" + ` and ` + "`NotHeld`" + `. Otherwise:

| reason | of condition | of | means |
|---|---|---|---|
| ` + "`Invalid`" + ` | ` + "`Accepted`" + ` | both | the document has a mistake; the message has field, rule and remedy |
| ` + "`OutsideBounds`" + ` | ` + "`Accepted`" + ` | both | the installation does not permit a subnet, a port or a namespace of the document |
| ` + "`Shadowed`" + ` | ` + "`Accepted`" + ` | both | a file has the document too, and the file counts |
| ` + "`Outdated`" + ` | ` + "`Accepted`" + ` | both | the object went back in time, as after the restore of a backup; the version of before stays in effect |
| ` + "`CredentialsMissing`" + ` | ` + "`Accepted`" + ` | pool | the credentials lack a file that the source needs |
| ` + "`PoolNotAllowed`" + ` | ` + "`Accepted`" + ` | binding | the namespace may not use the pool, or there is no such pool |
| ` + "`PortNotAllowed`" + ` | ` + "`Accepted`" + ` | binding | the pool does not allow the namespace a port |
| ` + "`RemoteNamespaceNotAllowed`" + ` | ` + "`Accepted`" + ` | binding | the namespace may not follow Services of that remote namespace |
| ` + "`LimitReached`" + ` | ` + "`Accepted`" + ` | binding | ` + "`maxServices`" + ` or ` + "`maxChecks`" + ` of the pool is reached |
| ` + "`HealthCheckPortAmbiguous`" + ` | ` + "`Accepted`" + ` | binding | there is not exactly one TCP port to check: set ` + "`spec.healthCheck.port`" + ` |
| ` + "`ServiceMissing`" + `, ` + "`ServiceDeleting`" + `, ` + "`ServiceHasSelector`" + `, ` + "`ServiceExternalName`" + `, ` + "`PortMismatch`" + `, ` + "`SliceOwnedByOther`" + ` | ` + "`Accepted`" + ` | binding | the Service cannot be filled, as the [Event](reasons.md#events) of that name says |
| ` + "`NotRead`" + ` | ` + "`SourceReady`" + ` | pool | no Service uses the pool, or the source was not read yet |
| ` + "`ReadFailed`" + `, ` + "`Unauthorized`" + `, ` + "`Incomplete`" + ` | ` + "`SourceReady`" + ` | pool | the source cannot be read, refuses the credentials, or gave no complete answer; the log says why |
| ` + "`Pending`" + `, ` + "`WriteFailed`" + ` | ` + "`Programmed`" + ` | binding | a slice is not written yet, or cannot be written |
| ` + "`DryRun`" + ` | ` + "`Programmed`" + `, ` + "`Ready`" + ` | binding | a dry run writes no slice |
| ` + "`Releasing`" + ` | ` + "`Programmed`" + ` | binding | the endpoints go after ` + "`spec.releaseAfter`" + ` |
| ` + "`NoEndpointReady`" + ` | ` + "`Ready`" + `, ` + "`Held`" + ` | both | ` + "`Ready`" + `: no endpoint is ready. ` + "`Held`" + `: no endpoint that stays passes its check |
| ` + "`FailOpen`" + ` | ` + "`Ready`" + ` | binding | no endpoint passes its check, so all are published as ready; ` + "`Ready`" + ` is true |
| ` + "`InventoryRejected`" + ` | ` + "`Held`" + ` | both | endpoints that a rejected inventory leaves out stay |
| ` + "`CutOff`" + ` | ` + "`Held`" + ` | both | so many endpoints are silent at once that silence takes no endpoint down |
| ` + "`ManyReleased`" + ` | ` + "`Held`" + ` | binding | so many Services lost binding or pool at once that it may be a mistake; the endpoints stay |

` + "`Invalid`" + ` is also a reason of ` + "`Held`" + `: the document of a pool has a mistake. A status is written after the slices, at most once in 5 s for each object. If the API server refuses it, slices go on and the object says what was true before ([runbook](../runbooks/documents.md#ionosendpointslicestatusrefused)).
`

const annotations = `
## Annotations of a Service

The short form of a binding. A binding with the name of the Service wins over them.

| annotation | is |
|---|---|
| ` + "`endpoints.ablmnzde.github.io/pool`" + ` | the one entry of ` + "`spec.pools`" + `; an empty value is no pool |
| ` + "`endpoints.ablmnzde.github.io/health-check-mode`" + ` | ` + "`spec.healthCheck.mode`" + ` |
| ` + "`endpoints.ablmnzde.github.io/health-check-path`" + ` | ` + "`spec.healthCheck.path`" + ` |
| ` + "`endpoints.ablmnzde.github.io/health-check-host`" + ` | ` + "`spec.healthCheck.host`" + ` |
| ` + "`endpoints.ablmnzde.github.io/health-check-port`" + ` | ` + "`spec.healthCheck.port`" + ` |
| ` + "`endpoints.ablmnzde.github.io/health-check-expected-status`" + ` | ` + "`spec.healthCheck.expectedStatus`" + ` |
`

func TestTheReferenceIsCurrent(t *testing.T) {
	got := parseTypes(t).page()
	golden.Check(t, page, got, "go generate ./internal/endpoints/documents")
}

// TestTheReferenceNamesEveryConditionAndReason: those that the types name.
func TestTheReferenceNamesEveryConditionAndReason(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(types + "/status.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\t(?:Condition|Reason)\w+ += "(\w+)"`).FindAllStringSubmatch(string(text), -1)
	if len(names) < 30 {
		t.Fatalf("found only %d names: are they still recognised?", len(names))
	}
	for _, name := range names {
		if !strings.Contains(conditions, "`"+name[1]+"`") {
			t.Errorf("the section about conditions does not name %s", name[1])
		}
	}
}

func TestLimitsAreWhatTheReferenceSays(t *testing.T) {
	t.Parallel()
	s, tried := parseTypes(t), 0
	for kind, rows := range map[string][]field{"EndpointPool": s.fields("EndpointPool", ""), "EndpointBinding": s.fields("EndpointBinding", "")} {
		for _, f := range rows {
			least, most, ok := strings.Cut(f.limits, " to ")
			if !ok || !strings.HasPrefix(f.path, "spec.") || f.kind != "number" && f.kind != "duration" {
				continue
			}
			tried++
			for value, want := range map[string]bool{least: true, most: true, before(t, least): false, after(t, most): false} {
				text := version + "kind: " + kind + "\nmetadata: {name: a, namespace: b}\n" + nested(f.path, value)
				rule := "no mistake"
				for _, m := range documents.Decode("f", []byte(text))[0].Mistakes {
					if m.Field == strings.ReplaceAll(f.path, "[]", "[0]") && strings.Contains(m.Rule, "outside") {
						rule = m.Rule
					}
				}
				if (rule == "no mistake") != want || !want && rule != "is outside "+f.limits {
					t.Errorf("%s=%s: got %q, but the reference says %s", f.path, value, rule, f.limits)
				}
			}
		}
	}
	if tried < 15 {
		t.Errorf("tried only %d limits", tried)
	}
}

// The API server does not have these fields, so only this test holds them to their limits.
func TestLimitsOfWhatOnlyFilesHaveAreWhatTheReferenceSays(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, f := range parseTypes(t).fields("EndpointPool", "") {
		found := regexp.MustCompile(`(\d+) (characters|entries)$`).FindStringSubmatch(f.limits)
		if found == nil || !strings.HasPrefix(f.path, "spec.source.file.") && !strings.HasPrefix(f.path, "spec.source.command.") {
			continue
		}
		tried++
		most, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		for length, want := range map[int]bool{most: true, most + 1: false} {
			value := strings.Repeat("a", length)
			if found[2] == "entries" {
				value = "[" + strings.Repeat("a, ", length) + "]"
			}
			text := version + "kind: EndpointPool\nmetadata: {name: a}\n" + nested(f.path, value)
			beyond := slices.ContainsFunc(documents.Decode("f", []byte(text))[0].Mistakes, func(m documents.Mistake) bool { return m.Field == f.path })
			if beyond == want {
				t.Errorf("%s: %d %s are refused: %v, but the reference says %s", f.path, length, found[2], beyond, f.limits)
			}
		}
	}
	if tried != 3 {
		t.Errorf("tried %d limits, want 3", tried)
	}
}

// nested writes a document with one field.
func nested(path, value string) string {
	name, rest, more := strings.Cut(path, ".")
	if !more {
		return name + ": " + value
	}
	name, list := strings.CutSuffix(name, "[]")
	if list {
		return name + ": [{" + nested(rest, value) + "}]"
	}
	return name + ": {" + nested(rest, value) + "}"
}

// before and after return the nearest value beyond a limit.
func before(t *testing.T, limit string) string { t.Helper(); return beside(t, limit, -1) }
func after(t *testing.T, limit string) string  { t.Helper(); return beside(t, limit, 1) }

func beside(t *testing.T, limit string, step int64) string {
	t.Helper()
	if d, err := time.ParseDuration(limit); err == nil && !strings.HasSuffix(limit, "0") {
		return (d + time.Duration(step)*time.Millisecond).String()
	}
	n, err := strconv.ParseInt(limit, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(n+step, 10)
}

func TestEveryFieldHasASentence(t *testing.T) {
	t.Parallel()
	s := parseTypes(t)
	rows := slices.Concat(s.fields("EndpointPool", ""), s.fields("EndpointBinding", ""))
	if len(rows) < 60 {
		t.Fatalf("found only %d fields: are types still recognised?", len(rows))
	}
	for _, f := range rows {
		if !strings.HasSuffix(f.meaning, ".") {
			t.Errorf("%s: meaning is only %q", f.path, f.meaning)
		}
	}
}
