package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// The kinds, as their definitions are called in files and in the API server.
const (
	poolKind    = "endpointpools"
	bindingKind = "endpointbindings"
)

// define applies one definition, changed, and waits until the API server has it.
func (p *platform) define(kind string, change func(schema map[string]any)) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(definitions, kind+".yaml"))
	if err != nil {
		p.t.Fatal(err)
	}
	var definition map[string]any
	if err := yaml.Unmarshal(data, &definition); err != nil {
		p.t.Fatal(err)
	}
	version := within(p.t, definition, "spec")["versions"].([]any)[0].(map[string]any)
	change(within(p.t, version, "schema", "openAPIV3Schema"))
	text, err := yaml.Marshal(definition)
	if err != nil {
		p.t.Fatal(err)
	}
	p.kubectl(string(text), "apply", "--filename", "-")
	p.kubectl("", "wait", "--for=condition=Established", "--timeout="+waitTimeout.String(), "crd/"+kind+".endpoints.ablmnzde.github.io")
}

// as leaves a definition as it is.
func as(map[string]any) {}

// within is a part of an object.
func within(t *testing.T, object map[string]any, path ...string) map[string]any {
	t.Helper()
	for _, name := range path {
		next, is := object[name].(map[string]any)
		if !is {
			t.Fatalf("there is no %s in %v", name, path)
		}
		object = next
	}
	return object
}

// hits lets a node die and come back, and returns how many writes of slices that was.
func (p *platform) hits(node int) {
	p.t.Helper()
	before := p.slicesWritten()
	states := slices.Repeat([]string{"ready"}, node+1)
	states[node] = "down"
	p.nodes[node].backends[0].kill()
	p.want(states...)
	p.nodes[node].backends[0].start(p.t)
	p.want()
	p.wantSlicesWritten(before, 4)
}

// saysOf waits for a message about a kind.
func (d *daemon) saysOf(message, kind string) {
	d.world.t.Helper()
	for fmt.Sprint(d.says(message)["kind"]) != kind {
	}
}

// Contract 82: each kind comes and goes alone, and what the other one, files and
// annotations say counts meanwhile.
func TestContract82OneOfTheKindsIsThere(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	p.withKinds()
	printed := p.command(nil, "config", "show", "-o", "documents").stdout

	t.Log("pools without bindings: an annotation chooses a pool of the API server")
	p.define(poolKind, as)
	p.kubectl(p.poolText("green", p.green, "["+p.namespace+"]", ""), "apply", "--filename", "-")
	if err := os.Remove(filepath.Join(p.folder, "green.yaml")); err != nil {
		t.Fatal(err)
	}
	d := p.start()
	const missing = "the API server does not have the kind; documents in files and annotations count"
	d.saysOf(missing, "EndpointBinding")
	p.want()
	p.wantCondition("endpointpool/green", "SourceReady")
	p.hits(0)
	if got := d.count(missing); got != 1 {
		t.Errorf("got %d kinds told as missing, want one, once", got)
	}

	t.Log("the other kind comes")
	p.define(bindingKind, as)
	d.saysOf("the API server has the kind", "EndpointBinding")
	p.kubectl(printed, "apply", "--filename", "-")
	p.removeFiles()
	p.wantCondition("endpointbinding/web", "Ready")
	p.wantCondition("endpointbinding/both", "Ready")
	p.wantCondition("endpointpool/blue", "SourceReady")
	p.hits(1)

	for _, kind := range []struct{ file, name string }{{bindingKind, "EndpointBinding"}, {poolKind, "EndpointPool"}} {
		t.Logf("%s is deleted, and comes back", kind.name)
		before := p.slicesWritten()
		p.kubectl("", "delete", "crd/"+kind.file+".endpoints.ablmnzde.github.io")
		for !strings.Contains(fmt.Sprint(d.says("mistake in a document")), kind.name+": is lost") {
		}
		p.hits(2)
		p.define(kind.file, as)
		d.saysOf("the API server has the kind", kind.name)
		p.kubectl(printed, "apply", "--filename", "-")
		p.wantCondition("endpointbinding/web", "Held=False")
		p.wantCondition("endpointbinding/both", "Ready")
		p.wantCondition("endpointpool/blue", "SourceReady")
		p.hits(0)
		p.wantSlicesWritten(before, 8)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
}

// Contract 123: under a running program the definitions are upgraded from a version that has
// less columns, go back to one that drops a required field and refuses every status, and are
// upgraded again. No endpoint is lost, and no status is written again and again.
func TestContract123DefinitionsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	p.withKinds()
	printed := p.command(nil, "config", "show", "-o", "documents").stdout
	p.define(poolKind, func(schema map[string]any) {
		delete(within(t, schema, "properties", "status", "properties"), "targets")
	})
	p.define(bindingKind, func(schema map[string]any) {
		delete(within(t, schema, "properties", "status", "properties"), "endpoints")
	})
	p.kubectl(printed, "apply", "--filename", "-")
	p.removeFiles()

	t.Log("a version without some columns")
	d := p.start()
	p.want()
	p.untilSaid("web", "True EndpointsReady: 3 of 3 endpoints are ready")
	p.untilSaid("both", "True EndpointsReady: 5 of 5 endpoints are ready")
	p.hits(0)
	p.untilSaid("both", "True EndpointsReady: 5 of 5 endpoints are ready")
	if got := p.counts("web"); got != " ready  down" {
		t.Errorf("got endpoints %s, which the definition does not have", got)
	}

	t.Log("today's version")
	p.install()
	p.nodes[0].backends[0].kill()
	p.want("down")
	p.until(func() bool { return p.counts("web") == "2 ready 1 down" && p.counts("both") == "4 ready 1 down" }, func() string {
		return fmt.Sprintf("got endpoints %s and %s", p.counts("web"), p.counts("both"))
	})

	t.Log("a version that drops the subnets of pools, and refuses every status of a binding")
	before := p.slicesWritten()
	p.define(poolKind, func(schema map[string]any) {
		spec := within(t, schema, "properties", "spec")
		delete(within(t, spec, "properties"), "subnets")
		spec["required"] = []any{"source"}
	})
	p.define(bindingKind, func(schema map[string]any) {
		status := within(t, schema, "properties", "status")
		within(t, status, "properties", "ready")["maxLength"] = 1
	})
	p.until(func() bool {
		p.kubectl("", "annotate", "--overwrite", "endpointpools", "--all", "touched=yes")
		return !strings.Contains(p.kubectl("", "get", "endpointpool", "blue", "--output", "jsonpath={.spec}"), "subnets")
	}, func() string { return "pool blue still has subnets" })
	p.until(func() bool { // the server takes the new definition in steps
		p.kubectl("", "annotate", "--overwrite", "endpointpools", "--all", fmt.Sprint("touched=", time.Now().UnixNano()))
		return strings.HasPrefix(p.said("endpointpool/blue", "Accepted"), "False ")
	}, func() string { return "pool blue is accepted without subnets" })
	if got := p.said("endpointpool/blue", "Accepted"); !strings.HasPrefix(got, "False Invalid: spec.subnets: ") || !strings.Contains(got, "The last good version stays in effect") {
		t.Errorf("got %q", got)
	}
	p.nodes[0].backends[0].start(t)
	p.want()
	for !strings.Contains(fmt.Sprint(d.says("the status of documents in the API server is not written, everything else works; give this program the right to update endpointpools/status and endpointbindings/status, or let the admission policy or webhook that is named allow it")["error"]), "status.ready") {
	}

	t.Log("today's version again")
	p.install()
	p.until(func() bool { // before the new definition is in force, subnets are dropped
		p.kubectl(printed, "apply", "--filename", "-")
		return strings.Contains(p.kubectl("", "get", "endpointpool", "blue", "--output", "jsonpath={.spec}"), "subnets")
	}, func() string { return "pool blue gets no subnets" })
	p.wantCondition("endpointpool/blue", "Accepted")
	p.until(func() bool { // until the new definition is in force, an object that changes is tried again
		p.kubectl("", "annotate", "--overwrite", "--namespace", p.namespace, "endpointbindings", "--all", "touched="+fmt.Sprint(len(p.writes())))
		return p.counts("web") == "3 ready 0 down" && p.counts("both") == "5 ready 0 down"
	}, func() string { return fmt.Sprintf("got endpoints %s and %s", p.counts("web"), p.counts("both")) })
	p.hits(1)
	p.wantSlicesWritten(before, 2+4)
	if code := d.stop(); code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
}

// counts are the endpoints that a binding counts.
func (p *platform) counts(binding string) string {
	p.t.Helper()
	return p.kubectl("", "get", "--namespace", p.namespace, "endpointbinding/"+binding, "--output", `jsonpath={.status.endpoints.ready} ready {.status.endpoints.down} down`)
}
