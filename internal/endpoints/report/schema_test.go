package report_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// schemaPath is the schema of the document that users get, servicesPath that of the list.
var (
	schemaPath   = filepath.Join("..", "..", "..", "docs", "reference", "status.schema.json")
	servicesPath = filepath.Join("..", "..", "..", "docs", "reference", "services.schema.json")
)

// object is the part of a schema that the tests look at.
type object struct {
	Ref         string `json:"$ref"`
	Type        string
	Format      string
	Description string
	Required    []string
	Properties  map[string]object
	Items       *object
	Enum        []string
	AnyOf       []object
	Const       string
	Defs        map[string]object `json:"$defs"`
}

func readSchema(t *testing.T, path string) object {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// compiled returns what checks values.
func compiled(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// fits fails the test where a value does not fit its schema.
func fits(t *testing.T, schema *jsonschema.Schema, of any) {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v\n%.2000s", err, text)
	}
}

func TestEveryDocumentFitsTheSchema(t *testing.T) {
	t.Parallel()
	schema := compiled(t, schemaPath)
	refused := func(netip.Addr) bool { return true }
	for name, make := range map[string]func() *report.Document{
		"healthy":     func() *report.Document { return newWorld(3).publish().document(t) },
		"not decided": func() *report.Document { return report.Build(facts(&report.Status{})) },
		"nothing":     func() *report.Document { return newWorld(0).document(t) },
		"standby": func() *report.Document {
			f := facts(&report.Status{})
			f.Leader, f.Election = false, report.Election{Enabled: true, Holder: "pod-1", Since: time.Now()}
			return report.Build(f)
		},
		"hold": func() *report.Document { w := newWorld(3).publish(); w.nodes = nil; return w.document(t) },
		"fail open": func() *report.Document {
			w := newWorld(3).publish()
			w.refuses = refused
			return w.document(t)
		},
		"problem": func() *report.Document { w := newWorld(3); w.state.Service = publish.Service{}; return w.document(t) },
		"everything that may be left out": func() *report.Document {
			w := newWorld(3).publish()
			w.nodes[0].Addresses = append(w.nodes[0].Addresses, netip.MustParseAddr("192.168.0.1"))
			w.state.Refused = []publish.Refusal{{Name: "web-remote-2", Message: "is managed by somebody"}}
			w.state.Beside = []publish.ForeignSlice{{Name: "web-abcde", Message: "is mirrored"}}
			status := *w.assess(t)
			status.Source.Next, status.Source.LastErr, status.Store.LastWrite = time.Now(), errors.New("boom"), time.Now()
			none := []string{}
			status.Cycles = []explain.Cycle{
				{At: time.Now(), DurationSeconds: 1, Writes: 1, Added: []string{"10.0.0.1"}, Removed: none, Changed: none},
				{Error: "boom", Repeats: 7, Added: none, Removed: none, Changed: none}, {
					Inventory: &explain.Inventory{Rejected: "NoNodes"}, Mode: &explain.ModeChange{From: "Publish", To: "Hold", Reason: "NoNodes", Message: "no node"},
					States: []explain.StateChange{{Address: "10.0.0.1", From: "ready", To: "down", Reason: "ProbeRefused"}}, MoreStates: 2,
					Added: none, Removed: none, Changed: none,
				},
			}
			f := facts(&status)
			f.Warnings = []string{"odd"}
			return report.Build(f)
		},
		"5,000 nodes": func() *report.Document { return newWorld(5_000).publish().document(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fits(t, schema, make())
		})
	}
}

func TestTheSchemasAndTheDocumentsHaveTheSameFields(t *testing.T) {
	t.Parallel()
	sameFields(t, readSchema(t, schemaPath), reflect.TypeFor[report.Document]())
	sameFields(t, readSchema(t, servicesPath), reflect.TypeFor[report.Services]())
}

func sameFields(t *testing.T, schema object, document reflect.Type) {
	t.Helper()
	described := map[string]bool{"reason": true}
	var compare func(o object, of reflect.Type)
	compare = func(o object, of reflect.Type) {
		var got, required []string
		for name := range o.Properties {
			got = append(got, name)
		}
		want := fields(of)
		var names, always []string
		for name, f := range want {
			names = append(names, name)
			if !strings.Contains(f.Tag.Get("json"), ",omit") {
				always = append(always, name)
			}
		}
		required = o.Required
		sorted := cmpopts.SortSlices(strings.Compare)
		if diff := cmp.Diff(names, got, sorted); diff != "" {
			t.Errorf("%s: fields (-Go +schema):\n%s", of, diff)
		}
		if diff := cmp.Diff(always, required, sorted); diff != "" {
			t.Errorf("%s: fields that are never left out (-Go +schema):\n%s", of, diff)
		}
		for name, property := range o.Properties {
			if property.Description == "" {
				t.Errorf("%s.%s is not described", of, name)
			}
			deep, ref := want[name].Type, property.Ref
			for deep != nil && (deep.Kind() == reflect.Pointer || deep.Kind() == reflect.Slice) {
				if deep.Kind() == reflect.Slice && property.Items != nil {
					ref = property.Items.Ref
				}
				deep = deep.Elem()
			}
			if deep != nil && deep.Kind() == reflect.Struct && deep != reflect.TypeFor[time.Time]() {
				definition := strings.TrimPrefix(ref, "#/$defs/")
				described[definition] = true
				compare(schema.Defs[definition], deep)
			}
		}
	}
	compare(schema, document)
	for name := range schema.Defs {
		if !described[name] {
			t.Errorf("the schema defines %s, which nothing uses", name)
		}
	}
}

// fields returns the fields of a type by their names in JSON.
func fields(of reflect.Type) map[string]reflect.StructField {
	all := make(map[string]reflect.StructField)
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			all[name] = f
		}
	}
	return all
}

func TestTheSchemaListsEveryWord(t *testing.T) {
	t.Parallel()
	schema := readSchema(t, schemaPath)
	var reasons []string
	for _, doc := range inventory.Reasons() {
		reasons = append(reasons, string(doc.Reason))
	}
	node, decision := schema.Defs["node"].Properties, schema.Defs["decision"].Properties
	for name, test := range map[string]struct{ got, want []string }{
		"mode":   {schema.Properties["mode"].Enum, []string{guard.Publish.String(), guard.Hold.String(), guard.FailOpen.String()}},
		"reason": {schema.Defs["reason"].Enum, reasons},
		"cause": {schema.Properties["reason"].Enum, []string{"", string(guard.NoNodes), string(guard.NothingPassesFilter), string(guard.NothingStays),
			string(guard.TooManyRemovals), string(guard.ContradictoryRead), string(guard.ProbesSilent), string(guard.NothingPasses)}},
		"state":         {node["state"].Enum, []string{inventory.StateReady.String(), inventory.StateDraining.String(), inventory.StateDown.String(), inventory.Absent.String()}},
		"outcome":       {schema.Defs["healthCheck"].Properties["outcome"].Enum, []string{inventory.Pass.String(), inventory.Refused.String(), inventory.Silent.String(), inventory.LocalError.String()}},
		"stage":         {decision["stage"].Enum, []string{string(inventory.StageSource), string(inventory.StageFilter), string(inventory.StageHealth), string(inventory.StageGuard)}},
		"healthCheckBy": {schema.Defs["poolPart"].Properties["healthCheckBy"].Enum, []string{string(naming.Pool), string(naming.Binding), string(naming.Service), string(naming.Environment)}},
		"spelling":      {schema.Defs["service"].Properties["spelling"].Enum, []string{string(naming.Fields), string(naming.Annotations)}},
		"remoteService": {schema.Defs["remoteService"].Properties["reason"].Enum, []string{"", string(explain.PlacementRejected), string(explain.UnknownNode), string(explain.PlacementUnavailable)}},
		"problem":       {schema.Defs["problem"].Properties["kind"].Enum, []string{string(publish.ServiceMissing), string(publish.ServiceDeleting), string(publish.ServiceHasSelector), string(publish.ServiceExternalName), string(publish.PortMismatch)}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", name, test.got, test.want)
		}
	}
	if node["reason"].Ref != "#/$defs/reason" || schema.Properties["apiVersion"].Const != report.APIVersion {
		t.Errorf("got reason %+v and version %+v", node["reason"], schema.Properties["apiVersion"])
	}
}
