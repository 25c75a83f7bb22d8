package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
)

// program is a kubectl that does what the script says.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// environ is what a script needs.
func environ(more ...string) []string { return append(more, "PATH=/usr/bin:/bin") }

func create() publish.Write {
	return publish.Write{Operation: publish.Create, Slice: publish.Slice{
		Name: "web-remote", Owner: "s-1",
		Endpoints: []inventory.Member{{Address: netip.MustParseAddr("10.0.0.1"), State: inventory.StateReady}},
	}}
}

// loaded is a store that has read one slice at version 7 by the script's
// answers to get.
func loaded(t *testing.T, write string) *store.Kubectl {
	t.Helper()
	object := publish.Apply(nil, create(), storetest.Target("default"))
	object.ResourceVersion = "7"
	list, err := json.Marshal(map[string]any{"kind": "List", "items": []*discoveryv1.EndpointSlice{object}})
	if err != nil {
		t.Fatal(err)
	}
	store := newKubectl(t, storetest.Target("default"), program(t, `
case "$1 $2" in
"get services") exit ;;
"get "*) echo "$LIST"; exit ;;
esac
`+write), environ("LIST="+string(list)))
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

func update() publish.Write {
	write := create()
	write.Operation, write.Slice.Version = publish.Update, "7"
	return write
}

func TestContract27AWriteIsAManifestOnStandardInputAndNeverForced(t *testing.T) {
	dir := t.TempDir()
	store := newKubectl(t, storetest.Target("default"),
		program(t, `printf '%s\n' "$@" >"$DIR/args"; cat >"$DIR/stdin"; env >"$DIR/env"; cat "$DIR/stdin"`),
		environ("DIR="+dir, "KUBECONFIG=/a:/b", "GREETING=s3cr3t"))
	write := create()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := store.Write(ctx, write); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}

	args := strings.Fields(read("args"))
	timeout := args[len(args)-1]
	want := []string{"create", "--filename=-", "--output=json", "--validate=false",
		"--field-manager=ionos-endpointslice-controller", "--namespace=default"}
	if diff := cmp.Diff(want, args[:len(args)-1]); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	value, ok := strings.CutPrefix(timeout, "--request-timeout=")
	if left, err := time.ParseDuration(value); !ok || err != nil || left <= 0 || left > time.Minute {
		t.Errorf("got %s, want a time-out within the deadline", timeout)
	}
	got := &discoveryv1.EndpointSlice{}
	if err := json.Unmarshal([]byte(read("stdin")), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(publish.Apply(nil, write, storetest.Target("default")), got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	for _, variable := range []string{"KUBECONFIG=/a:/b\n", "GREETING=s3cr3t\n"} {
		if !strings.Contains(read("env"), variable) {
			t.Errorf("the environment has no %q", variable)
		}
	}
	if os.Getenv("HOME") != "" && strings.Contains(read("env"), "HOME=") {
		t.Error("the environment has what was not given")
	}
}

func TestContract21WhatTheServerSaysOfAWriteIsAConflictOrIsNot(t *testing.T) {
	tests := []struct {
		write publish.Write
		says  string
		want  bool
	}{
		{create(), "Error from server (AlreadyExists): error when creating", true},
		{create(), "Error from server (NotFound): namespaces \"default\" not found", false},
		{create(), "Error from server (Forbidden): Conflict", false},
		{update(), "Error from server (Conflict): error when replacing", true},
		{update(), "Error from server (NotFound): error when replacing", true},
		{update(), "Error from server (Forbidden): error when replacing", false},
		{update(), "Unable to connect to the server: (Conflict)", false},
	}
	for _, test := range tests {
		t.Run(string(test.write.Operation)+" "+test.says, func(t *testing.T) {
			script := "echo '" + test.says + "' >&2; exit 1"
			store := newKubectl(t, storetest.Target("default"), program(t, script), environ())
			if test.write.Operation == publish.Update {
				store = loaded(t, script)
			}
			_, err := store.Write(t.Context(), test.write)
			if err == nil || errors.Is(err, publish.ErrConflict) != test.want {
				t.Errorf("got %v, want a conflict: %v", err, test.want)
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to say what kubectl said", err)
			}
		})
	}
}

// TestContract171WhatKubectlPrintsIsHeldAgainstWhatWasSent: a policy of the API server changes
// what is written, or does not.
func TestContract171WhatKubectlPrintsIsHeldAgainstWhatWasSent(t *testing.T) {
	for operation, write := range map[string]publish.Write{"create": create(), "replace": update()} {
		for name, test := range map[string]struct {
			policy string
			want   bool
		}{
			"a policy changes it":           {`sed 's/"ready":false/"ready":true/'`, true},
			"a policy changes what is ours": {`sed 's/"endpointslice.kubernetes.io\/managed-by":"[^"]*"/"endpointslice.kubernetes.io\/managed-by":"x"/'`, true},
			"it is stored as it was sent":   {"cat", false},
		} {
			t.Run(operation+", "+name, func(t *testing.T) {
				write.Slice.Endpoints = []inventory.Member{{Address: netip.MustParseAddr("10.0.0.1"), State: inventory.StateDown}}
				store := loaded(t, test.policy+` | sed 's/"resourceVersion":"7"/"resourceVersion":"8"/'`)
				if operation == "create" {
					store = newKubectl(t, storetest.Target("default"), program(t, test.policy), environ())
				}
				version, err := store.Write(t.Context(), write)
				if errors.Is(err, publish.ErrStoredOtherwise) != test.want || (err == nil) == test.want {
					t.Errorf("got %v, want that something else is stored: %v", err, test.want)
				}
				if operation == "replace" && version != "8" {
					t.Errorf("got version %q, want 8, that of what is stored", version)
				}
			})
		}
	}
}

func TestAnIncompleteAnswerIsAnError(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"its own words":     {"echo 'Unable to connect to the server' >&2; exit 1", "Unable to connect to the server"},
		"a cut answer":      {`[ "$2" = services ] || echo '{"items": [{"metadata"'`, "decode"},
		"no items":          {`[ "$2" = services ] || echo '{}'`, "no items"},
		"no answer":         {"exit 0", "decode"},
		"two answers":       {`[ "$2" = services ] || echo '{"items": []} {"items": []}'`, "decode"},
		"an odd Service":    {"echo '[]'", "decode"},
		"too large a reply": {"exec head -c 40000000 /dev/zero", "over the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			store := newKubectl(t, storetest.Target("default"), program(t, test.script), environ())
			if _, err := store.Load(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	store := newKubectl(t, storetest.Target("default"), program(t, "exec sleep 600"), environ())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := store.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestASliceThatWasWrittenIsLookedForByItsName(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		fails  bool
	}{
		"a readable answer": {`cat "$DIR/stored"`, false},
		"a lost answer":     {"echo lost", true},
	} {
		t.Run(name, func(t *testing.T) {
			store := newKubectl(t, storetest.Target("default"), program(t, `
case "$1 $2 $3" in
"get services"*) exit ;;
"get "*" --output=json") echo '{"items": []}' ;;
"get "*) cat "$DIR/stored" ;;
*) cat >"$DIR/stored"; `+test.answer+` ;;
esac`), environ("DIR="+t.TempDir()))
			if _, err := store.Write(t.Context(), create()); (err != nil) != test.fails || errors.Is(err, publish.ErrConflict) {
				t.Fatalf("got %v, want an error: %v, and no conflict", err, test.fails)
			}
			state, err := store.Load(t.Context())
			if err != nil || len(state.Slices) != 1 {
				t.Errorf("got %v, %v; want the slice that was written", state, err)
			}
		})
	}
}

// TestContract27ManySlicesMayVanishAtOnce: they are gone, or two of them have lost their label, and
// the time of a load is not enough to ask for each by a run of its own.
func TestContract27ManySlicesMayVanishAtOnce(t *testing.T) {
	dir := t.TempDir()
	list := func(file string, names ...string) {
		items := []*discoveryv1.EndpointSlice{}
		for _, name := range names {
			write := create()
			write.Slice.Name = name
			items = append(items, publish.Apply(nil, write, storetest.Target("default")))
			items[len(items)-1].ResourceVersion = "7"
		}
		content, err := json.Marshal(map[string]any{"kind": "List", "items": items})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	store := newKubectl(t, storetest.Target("default"), program(t, `
case "$1 $2 $3" in
"get services"*) exit ;;
"get "*" --output=json") cat "$DIR/selected" ;;
*) sleep 0.2; cat "$DIR/named" ;;
esac`), environ("DIR="+dir))
	names := []string{"web-remote"}
	for i := range 60 {
		names = append(names, fmt.Sprint("web-remote-", i+2))
	}
	list("selected", names...)
	list("named", names[:2]...)
	for _, want := range []int{61, 2} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		state, err := store.Load(ctx)
		cancel()
		if err != nil || len(state.Slices) != want {
			t.Errorf("got %d slices and %v, want %d", len(state.Slices), err, want)
		}
		list("selected")
	}
}

// TestContract21ALoadDoesNotForgetAWriteOfMeanwhile: the load asks before the
// write, and its answer comes after.
func TestContract21ALoadDoesNotForgetAWriteOfMeanwhile(t *testing.T) {
	dir := t.TempDir()
	pipe := func(name string) string {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	asked, answers := pipe("asked"), pipe("answers")
	object := publish.Apply(nil, create(), storetest.Target("default"))
	object.ResourceVersion = "7"
	list, err := json.Marshal(map[string]any{"kind": "List", "items": []*discoveryv1.EndpointSlice{object}})
	if err != nil {
		t.Fatal(err)
	}
	store := newKubectl(t, storetest.Target("default"), program(t, `
case "$1 $2" in
"get services") exit ;;
"get "*) [ ! -e "$DIR/slow" ] || { echo >"$DIR/asked"; cat "$DIR/answers"; }; echo "$LIST" ;;
*) sed 's/"resourceVersion":"8"/"resourceVersion":"9"/;s/"resourceVersion":"7"/"resourceVersion":"8"/' ;;
esac`), environ("DIR="+dir, "LIST="+string(list)))
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "slow"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var state publish.State
	var loading sync.WaitGroup
	loading.Go(func() { state, err = store.Load(t.Context()) })
	if _, err := os.ReadFile(asked); err != nil {
		t.Fatal(err)
	}
	write := update()
	for _, want := range []string{"8", "9"} {
		version, err := store.Write(t.Context(), write)
		if err != nil || version != want {
			t.Fatalf("got version %q and %v, want %s", version, err, want)
		}
		write.Slice.Version = version
		if want == "9" {
			break
		}
		if err := os.WriteFile(answers, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		loading.Wait()
	}
	if err != nil || len(state.Slices) != 1 || state.Slices[0].Version != "8" {
		t.Errorf("load: got %+v and %v, want the slice at version 8", state, err)
	}
}

func TestIncompleteOptionsAreRefused(t *testing.T) {
	none := func() ([]string, error) { return nil, nil }
	for name, options := range map[string]store.KubectlOptions{
		"no target":      {Environ: none},
		"no environment": {Target: storetest.Target("default")},
	} {
		if _, err := store.NewKubectl(options); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	store, err := store.NewKubectl(store.KubectlOptions{
		Target: storetest.Target("default"), Environ: func() ([]string, error) { return nil, errors.New("no such secret") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "no such secret") {
		t.Errorf("got %v, want why there is no environment", err)
	}
}
