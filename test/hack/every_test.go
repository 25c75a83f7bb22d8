package hack_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// operators are the scripts for operators, with the arguments of a good call.
var operators = map[string][]string{
	"build-and-push.sh":       {"v1.2.3"},
	"set-image.sh":            {"v1.2.3"},
	"apply-order.sh":          nil,
	"restart-controller.sh":   nil,
	"logs-controller.sh":      nil,
	"run-maintenance-curl.sh": nil,
	"recreate-ionos-node.sh":  {"worker-0"},
	"verify-endpointslice.sh": nil,
	"run-local-inventory.sh":  nil,
	"check-secured-nodes.sh":  nil,
}

func TestEveryScriptExplainsItself(t *testing.T) {
	for name := range operators {
		for _, flag := range []string{"-h", "--help"} {
			said := script{name: name, args: []string{flag}}.run(t).want(0, "Usage: hack/"+name, "Exit status: ")
			if said.stderr != "" {
				t.Errorf("%s: got %q on standard error", name, said.stderr)
			}
		}
	}
}

func TestEveryScriptRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, args := range operators {
		script{name: name, args: append([]string{"--no-such-option"}, args...)}.run(t).want(2, "--no-such-option", "see --help")
	}
	for name, calls := range map[string][][]string{
		"build-and-push.sh": {
			{}, {"a", "b"}, {"latest"}, {"no/tag"}, {"--target", "v1"}, {"--target"}, {"--target", "x", "v1"}, {"--platform", "linux", "v1"},
		},
		"set-image.sh":            {{}, {"a", "b"}, {"latest"}, {"a:b"}, {"--timeout", "soon", "v1"}, {"--timeout"}, {"--folder"}},
		"apply-order.sh":          {{"a", "b"}, {"--timeout", "-1"}},
		"restart-controller.sh":   {{"now"}, {"--timeout", "1m"}},
		"logs-controller.sh":      {{"pod"}, {"--tail", "all"}, {"--since"}},
		"run-maintenance-curl.sh": {{"--requests", "0"}, {"--path", "no-slash"}, {"--path", "/$(id)"}, {"--path", "/\"\n"}, {"--scheme", "ftp"}, {"--port", "x"}},
		"recreate-ionos-node.sh":  {{}, {"a", "b"}, {"--timeout", "1m", "a"}},
		"verify-endpointslice.sh": {{"web"}},
		"run-local-inventory.sh":  {{"web"}, {"--once"}},
		"check-secured-nodes.sh":  {{"web"}},
	} {
		for _, args := range calls {
			script{name: name, args: args}.run(t).want(2, "see --help")
		}
	}
}

func TestEveryScriptIsStrictAndExecutable(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(root, "hack", "*.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == "lib.sh" {
			continue // it is sourced
		}
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: got mode %v, %v, want it executable", path, info.Mode(), err)
		}
		if !regexp.MustCompile(`(?m)\A#!/usr/bin/env bash\n# .*\nset -euo pipefail$`).Match(text) {
			t.Errorf("%s does not begin with bash, what it is for, and set -euo pipefail", path)
		}
	}
	for name := range operators {
		if !strings.Contains(strings.Join(found, " "), "/"+name) {
			t.Errorf("hack/%s is missing", name)
		}
	}
}

// What each script needs before it can do anything.
func TestEveryScriptNamesTheProgramThatIsMissing(t *testing.T) {
	env := map[string]string{
		"TARGET_SERVICE_NAME": "web", "SECURED_SUBNET_CIDR": "10.0.0.0/24", "IONOS_TOKEN": "x", "IONOS_CLUSTER_ID": "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11",
		"IONOS_DATACENTER_ID": "8feda53f-15f0-447f-badf-ebe32dad2fc0", "IONOS_PRIVATE_LAN_ID": "2", "SECURED_KUBECONFIG": "/dev/null", "SOURCE_KIND": "static",
	}
	for name, programs := range map[string][]string{
		"set-image.sh": {"kubectl"}, "apply-order.sh": {"kubectl"}, "restart-controller.sh": {"kubectl"}, "logs-controller.sh": {"kubectl"},
		"run-maintenance-curl.sh": {"kubectl"}, "verify-endpointslice.sh": {"kubectl", "python3"},
		"recreate-ionos-node.sh": {"kubectl", "curl", "jq", "python3"}, "check-secured-nodes.sh": {"kubectl"},
	} {
		for _, missing := range programs {
			script{name: name, args: operators[name], env: env, path: pathWithout(t, missing)}.run(t).want(1, "there is no "+missing+" in PATH", "remedy: install")
		}
	}
}

// Each script names what it needs.
func TestEveryScriptNamesTheVariableThatIsMissing(t *testing.T) {
	env := map[string]string{
		"TARGET_SERVICE_NAME": "web", "SECURED_SUBNET_CIDR": "10.0.0.0/24", "IONOS_TOKEN": "x", "IONOS_CLUSTER_ID": "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11",
		"IONOS_DATACENTER_ID": "8feda53f-15f0-447f-badf-ebe32dad2fc0", "IONOS_PRIVATE_LAN_ID": "2", "SECURED_KUBECONFIG": "/dev/null", "SOURCE_KIND": "static",
	}
	for name, variables := range map[string][]string{
		"run-maintenance-curl.sh": {"TARGET_SERVICE_NAME"},
		"verify-endpointslice.sh": {"TARGET_SERVICE_NAME", "SECURED_SUBNET_CIDR"},
		"run-local-inventory.sh":  {"TARGET_SERVICE_NAME", "SECURED_SUBNET_CIDR"},
		"check-secured-nodes.sh":  {"SECURED_SUBNET_CIDR"},
		"recreate-ionos-node.sh":  {"TARGET_SERVICE_NAME", "IONOS_CLUSTER_ID", "IONOS_DATACENTER_ID", "IONOS_PRIVATE_LAN_ID", "SECURED_KUBECONFIG"},
	} {
		for _, missing := range variables {
			said := script{name: name, args: operators[name], env: env}.with(map[string]string{missing: ""}).run(t).want(1, missing+" is not set: the ")
			if _, remedy, _ := strings.Cut(said.stderr, "remedy: "); !regexp.MustCompile(`^export ` + missing + `=\S+\n`).MatchString(remedy) {
				t.Errorf("%s: got the remedy %q, want a line for the shell that sets %s", name, remedy, missing)
			}
		}
	}
	script{name: "recreate-ionos-node.sh", args: []string{"n"}, env: env}.with(map[string]string{"IONOS_TOKEN": ""}).run(t).want(1, "IONOS_TOKEN_FILE is not set")
	for _, file := range []string{"IONOS_TOKEN_FILE", "SECURED_KUBECONFIG"} {
		call := script{name: "recreate-ionos-node.sh", args: []string{"n"}, env: env}
		call.with(map[string]string{"IONOS_TOKEN": "", "IONOS_TOKEN_FILE": "/dev/null", file: "/none"}).run(t).want(1, file+" names /none, which cannot be read")
	}
}

func TestTheScriptsForAClusterNameTheKubeconfigThatIsMissing(t *testing.T) {
	tools, err := filepath.Abs(filepath.Join(root, ".tools/bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tools, "kubectl")); err != nil && testing.Short() {
		t.Skip("kubectl is not built")
	}
	env := map[string]string{
		"TARGET_SERVICE_NAME": "web", "SECURED_SUBNET_CIDR": "10.0.0.0/24", "IONOS_TOKEN": "x", "IONOS_CLUSTER_ID": "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11",
		"IONOS_DATACENTER_ID": "8feda53f-15f0-447f-badf-ebe32dad2fc0", "IONOS_PRIVATE_LAN_ID": "2", "SECURED_KUBECONFIG": "/dev/null",
		"KUBECTL_PATH": filepath.Join(tools, "kubectl"),
	}
	for _, name := range []string{
		"set-image.sh", "apply-order.sh", "restart-controller.sh", "logs-controller.sh", "run-maintenance-curl.sh",
		"verify-endpointslice.sh", "recreate-ionos-node.sh",
	} {
		call := script{name: name, args: operators[name], env: env}
		call.with(map[string]string{"KUBECONFIG": "/none"}).run(t).want(1, "KUBECONFIG names /none, which cannot be read", "remedy: ")
		call.with(map[string]string{"KUBECONFIG": "/dev/null"}).run(t).want(1, "has no current context", "remedy: export KUBECONFIG=FILE")
	}
}
