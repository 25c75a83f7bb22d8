package hack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// firstSteps makes a folder as the README's first steps leave it: the repository's
// files, and .envrc as a copy of .envrc.example.
func firstSteps(t *testing.T) (dir string, env map[string]string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"hack", "deploy"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	example, err := os.ReadFile(filepath.Join(root, ".envrc.example"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".envrc"), example, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, map[string]string{"CONTROLLER_BINARY": built.Program(t)}
}

// TestTheEnvrcOfTheExampleLeadsToADryRun follows the README: copy, allow, and the
// commands in its order.
func TestTheEnvrcOfTheExampleLeadsToADryRun(t *testing.T) {
	dir, env := firstSteps(t)
	s := script{name: "the README's flow", env: env, dir: dir}
	for _, step := range []struct {
		command string
		want    []string
	}{
		{"hack/check-secured-nodes.sh", []string{"worker-1 10.0.0.11: 10.0.0.11 is inside 10.0.0.0/24", "usable nodes: 4 of 4", "all is right"}},
		{"hack/run-local-inventory.sh", []string{"source file", `"private_ips":["10.0.0.14","fd00:10::14"]`}},
		{`"$CONTROLLER_BINARY" config validate`, nil},
		{`"$CONTROLLER_BINARY" diff`, []string{"+  - 10.0.0.12"}},
	} {
		got := s.execute(t, "bash", "-c", "set -euo pipefail; . ./.envrc; "+step.command)
		status := 0
		if strings.HasSuffix(step.command, "diff") {
			status = 1 // there are differences
		}
		got.call = step.command
		got.want(status, step.want...).lacks("reading .envrc")
	}
}

func TestTheLocalScriptsReadEnvrcThemselves(t *testing.T) {
	dir, env := firstSteps(t)
	s := script{env: env, dir: dir}
	for _, command := range []string{"hack/check-secured-nodes.sh", "hack/run-local-inventory.sh"} {
		got := s.execute(t, "bash", "-c", command)
		got.call = command
		got.want(0, "reading .envrc, which direnv has not", "10.0.0.12")
	}
	if err := os.Remove(filepath.Join(dir, ".envrc")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"hack/check-secured-nodes.sh", "hack/run-local-inventory.sh"} {
		s.execute(t, "bash", "-c", command).want(1, "there is no .envrc", "remedy: cp .envrc.example .envrc")
	}
}

// Standard output is for the array; all other text goes elsewhere.
func TestTheLocalInventoryPrintsJSONAlone(t *testing.T) {
	dir, env := firstSteps(t)
	example, err := os.ReadFile(filepath.Join(dir, ".envrc"))
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]int{"true": 4, "export SECURED_SUBNET_CIDR=10.0.0.12/31": 2, "export SECURED_SUBNET_CIDR=192.168.0.0/24": 0} {
		if err := os.WriteFile(filepath.Join(dir, ".envrc"), []byte(string(example)+"echo loaded\n"+set+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		status := 0
		if want == 0 {
			status = 1
		}
		got := script{env: env, dir: dir}.execute(t, "bash", "-c", "hack/run-local-inventory.sh").want(status, "reading .envrc", "loaded")
		nodes, err := inventory.Decode([]byte(got.stdout))
		if err != nil || len(nodes) != want {
			t.Errorf("%s: got %d nodes, %v, want %d, in\n%s", set, len(nodes), err, want, got.stdout)
		}
	}
}

func TestTheLocalScriptsWriteToNoCluster(t *testing.T) {
	dir, env := firstSteps(t)
	s := script{env: env, dir: dir}
	// What a careless .envrc would make of a run: it would write, or wait for a lease.
	s.execute(t, "bash", "-c", ". ./.envrc; export STORE_KIND=client-go LEADER_ELECTION=true KUBECONFIG=/none; hack/run-local-inventory.sh").
		want(0, `"private_ip":"10.0.0.11"`)
}

func TestTheLocalScriptsPassOnWhatIsWrong(t *testing.T) {
	dir, env := firstSteps(t)
	s := script{env: env, dir: dir}
	for set, want := range map[string]struct {
		check, run int
		says       string
	}{
		"SECURED_SUBNET_CIDR=10.0.0.1/24":             {1, 2, "write 10.0.0.0/24"},
		"INVENTORY_FILE_PATH=/none":                   {1, 3, "/none"},
		"SECURED_SUBNET_CIDR=192.168.0.0/24":          {1, 1, "outside SECURED_SUBNET_CIDR=192.168.0.0/24"},
		"SECURED_KUBECONFIG=/none SOURCE_KIND=static": {1, 1, "SECURED_KUBECONFIG names /none"},
		"CONTROLLER_BINARY=/none":                     {1, 1, "CONTROLLER_BINARY names /none"},
	} {
		s.execute(t, "bash", "-c", ". ./.envrc; export "+set+"; hack/check-secured-nodes.sh").want(want.check, want.says).lacks("all is right")
		s.execute(t, "bash", "-c", ". ./.envrc; export "+set+"; hack/run-local-inventory.sh").want(want.run, want.says)
	}
}

// A missing program is built; without Go the script says how to get on.
func TestTheLocalScriptsBuildTheProgram(t *testing.T) {
	dir, _ := firstSteps(t)
	for _, name := range []string{"cmd", "internal"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := script{dir: dir}
	s.path = pathWithout(t)
	s.execute(t, "bash", "-c", "hack/run-local-inventory.sh").want(1, "there is no go in PATH", "CONTROLLER_BINARY")
	built := `mkdir -p bin; printf '#!/bin/sh\necho "ran $*"\n' >bin/ionos-endpointslice-controller; chmod +x bin/ionos-endpointslice-controller`
	s.path = fake(t, "go", `[ "$1" = build ] || exit 9
`+built) + ":" + os.Getenv("PATH")
	s.execute(t, "bash", "-c", "hack/run-local-inventory.sh").want(0, "building bin/", "ran inventory")
	s.execute(t, "bash", "-c", "hack/run-local-inventory.sh").want(0, "ran inventory").lacks("building")
	s.execute(t, "bash", "-c", "touch -d '+1 minute' internal/x.go; hack/run-local-inventory.sh").want(0, "building bin/")
}
