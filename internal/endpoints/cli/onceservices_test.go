package cli_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

// shops is a cluster with Services and documents that choose them: web of pool blue by a
// binding, shop of pool green by an annotation, both of both.
type shops struct {
	*fakeCluster
	documents map[string]string
	inventory string
}

func newShops(t *testing.T) *shops {
	t.Helper()
	s := &shops{fakeCluster: newFakeCluster(t), inventory: filepath.Join(t.TempDir(), "green.json")}
	s.service("shop", "web", 8080, nil)
	s.service("shop", "both", 8080, nil)
	s.service("blog", "shop", 8080, map[string]string{"endpoints.ablmnzde.github.io/pool": "green"})
	s.green(t, `[{"name": "g1", "private_ip": "10.0.0.31", "ready": true, "worker": true}]`)
	s.documents = map[string]string{
		"blue":  poolOf("blue", "{static: {nodes: "+nodeList("b1", "b2")+"}}", "[shop, blog]"),
		"green": poolOf("green", "{file: {path: "+s.inventory+"}}", "[shop, blog]"),
		"web":   bindingOf("web", "blue"),
		"both":  bindingOf("both", "blue, green"),
	}
	return s
}

func (s *shops) green(t *testing.T, inventory string) {
	t.Helper()
	if err := os.WriteFile(s.inventory, []byte(inventory), 0o600); err != nil {
		t.Fatal(err)
	}
}

// environ is a configuration with the documents as they are.
func (s *shops) environ(t *testing.T) []string {
	t.Helper()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.documents)) {
		text.WriteString(s.documents[name])
	}
	return s.fakeCluster.environ(t, text.String())
}

const both = "10.0.0.11 ready, 10.0.0.12 ready"

// wantAll checks that all three Services are filled.
func (s *shops) wantAll(t *testing.T) {
	t.Helper()
	want := map[string]string{"shop/web.blue": both, "shop/both.blue": both, "shop/both.green": "10.0.0.31 ready", "blog/shop.green": "10.0.0.31 ready"}
	if got := s.published(); !maps.Equal(got, want) {
		t.Errorf("got slices %v, want %v", got, want)
	}
}

// filled runs once, so that all is as it should be.
func (s *shops) filled(t *testing.T) {
	t.Helper()
	once(t, s.environ(t)).want(t, cli.Written, "3 of 3 Services as they should be", "4 slices written")
	s.wantAll(t)
}

// Contract 72: one run fills all Services, and a second one writes nothing.
func TestContract72ASingleRunFillsEveryService(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	once(t, s.environ(t), "--dry-run").want(t, cli.WouldWrite, "dry run, 4 slices would be written")
	if s.writes != 0 {
		t.Errorf("a dry run wrote %d times", s.writes)
	}
	s.conflicts = 2
	s.filled(t)
	once(t, s.environ(t)).want(t, cli.Unchanged, "3 of 3 Services as they should be", "0 slices written")
	if s.writes != 4 {
		t.Errorf("got %d writes, want one for each slice", s.writes)
	}
}

// Contract 72: what is wrong with one Service keeps no other from being filled, takes
// nothing away, and decides the exit status.
func TestContract72WhatIsWrongWithOneServiceStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*testing.T, *shops)
		outcome cli.Outcome
		says    []string
	}{
		"a source cannot be read": {func(t *testing.T, s *shops) { s.green(t, `[`) }, cli.SourceFailed, []string{"SourceFailed=2", "blog/shop, pool green: read source"}},
		"a source panics or is missing": {func(t *testing.T, s *shops) {
			if err := os.Remove(s.inventory); err != nil {
				t.Fatal(err)
			}
		}, cli.SourceFailed, []string{"1 of 3 Services as they should be"}},
		"a source lists nothing": {func(t *testing.T, s *shops) { s.green(t, `[]`) }, cli.InventoryRejected, []string{"InventoryRejected=2"}},
		"a document is wrong": {func(_ *testing.T, s *shops) {
			s.documents["green"] = strings.Replace(s.documents["green"], "subnets", "subnetz", 1)
		}, cli.NotGranted, []string{"DocumentInvalid="}},
		"a binding is gone": {func(_ *testing.T, s *shops) { delete(s.documents, "web") }, cli.Unchanged, []string{"3 of 3 Services as they should be"}},
		"all bindings are gone": {func(_ *testing.T, s *shops) { delete(s.documents, "web"); delete(s.documents, "both") }, cli.ServicesKept,
			[]string{"ServicesKept=4"}},
		"a Service asks for what it may not use": {func(_ *testing.T, s *shops) {
			s.service("blog", "greedy", 22, map[string]string{"endpoints.ablmnzde.github.io/pool": "blue"})
		}, cli.NotGranted, []string{"3 of 4 Services", "NotGranted=1", "blog/greedy, pool blue: PortNotAllowed"}},
		"a Service is missing": {func(_ *testing.T, s *shops) { s.documents["none"] = bindingOf("none", "blue") }, cli.ServiceProblem,
			[]string{"3 of 4 Services", "shop/none: ServiceMissing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShops(t)
			s.filled(t)
			test.change(t, s)
			once(t, s.environ(t)).want(t, test.outcome, test.says...)
			s.wantAll(t)
			if s.writes != 4 {
				t.Errorf("got %d writes, want none beside the first 4", s.writes)
			}
		})
	}
}

// Where there is one Service, texts name neither it nor its pool.
func TestASingleRunOfTheOnlyServiceNamesNoPool(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	delete(s.documents, "both")
	s.service("blog", "shop", 8080, nil)
	e := once(t, s.environ(t))
	e.want(t, cli.Written, "1 slice was written: 2 endpoints ready.")
	if strings.Contains(e.message, "blue") {
		t.Errorf("got %q, which names the pool", e.message)
	}
}

func TestASingleRunOfSeveralServicesSaysOnceWhereAMistakeIs(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	s.documents["web"] = strings.Replace(s.documents["web"], "pools", "poolz", 1)
	_, _, stderr := run(t, s.environ(t), "run", "--once", "--dry-run")
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, "DocumentInvalid\"") && strings.Count(line, ".yaml:") != 1 {
			t.Errorf("got %s, want its place once", line)
		}
	}
}

// Contract 72: a namespace that may not be written concerns its Services only.
func TestContract72AForbiddenNamespaceStopsNoOther(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	s.forbidden["blog"] = true
	once(t, s.environ(t)).want(t, cli.StoreFailed, "2 of 3 Services as they should be (StoreFailed=1)", "3 slices written", "blog/shop, pool green: create slice shop.green", "forbidden")
	if got := s.published(); len(got) != 3 {
		t.Errorf("got slices %v, want those of the other namespace", got)
	}
	code, _, stderr := run(t, s.environ(t), "run", "--once")
	if code != cli.ExitStore || strings.Count(stderr, `"msg":"not as it should be"`) != 1 {
		t.Errorf("got status %d and %s, want a line for the Service that cannot be written", code, stderr)
	}
}

// A replaced pool goes when what replaces it was checked, and only then.
func TestASingleRunReplacesAPoolWhenTheOtherIsReady(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	s.filled(t)
	s.documents["both"] = bindingOf("both", "blue")
	s.documents["web"] = bindingOf("web", "green")
	s.green(t, `[`)
	once(t, s.environ(t)).want(t, cli.SourceFailed)
	if got := s.published(); got["shop/web.blue"] != both || got["shop/web.green"] != "" {
		t.Errorf("got slices %v, want web of pool blue until green can be read", got)
	}
	s.green(t, `[{"name": "g1", "private_ip": "10.0.0.31", "ready": true, "worker": true}]`)
	once(t, s.environ(t)).want(t, cli.Written)
	if got := s.published(); got["shop/web.blue"] != "10.0.0.11 down, 10.0.0.12 down" || got["shop/web.green"] != "10.0.0.31 ready" || got["shop/both.green"] != "10.0.0.31 down" || got["shop/both.blue"] != both {
		t.Errorf("got slices %v, want web of pool green and both of pool blue, and the others draining", got)
	}
}

func TestASingleRunWithoutAnAPIServerSaysSo(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	s.server.Close()
	code, _, stderr := run(t, s.environ(t), "run", "--once")
	if code != cli.ExitStore || !strings.Contains(stderr, "namespace shop cannot be read") {
		t.Errorf("got status %d and %s", code, stderr)
	}
}
