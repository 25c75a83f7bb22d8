package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

func TestMain(m *testing.M) { built.Main(m) }

// canary is a secret that must be shown nowhere.
const canary = "c4n4ry-s3cr3t"

// kubeconfig is one for a server, with a user as YAML flow.
func kubeconfig(t *testing.T, server, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{current-context: a, clusters: [{name: a, cluster: {server: %q, insecure-skip-tls-verify: true}}], contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {%s}}]}", server, user)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// settings are a configuration without a source.
func settings() []string {
	return []string{"SECURED_SUBNET_CIDR=10.0.0.0/24", "TARGET_SERVICE_NAME=web", "TARGET_PORT=80", "STORE_KIND=client-go"}
}

// carryOut returns what a program prints that fails.
func carryOut(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, err := command.CombinedOutput()
	if err == nil || command.ProcessState.ExitCode() < 0 {
		t.Errorf("%v: got %v, want a failure", args, err)
	}
	return string(out)
}

// A plugin that gets no new token after a 401 is something that client-go logs, wherever
// its context says to log.
func TestContract35WhatClientGoLogsIsNotShown(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	const credential = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"` + canary + `"}}`
	for program, command := range map[string]string{built.Program(t): "check --only api", built.Views(t): "check"} {
		plugin := filepath.Join(t.TempDir(), "plugin")
		script := "#!/bin/sh\nmkdir " + plugin + ".ran || exit 3\necho '" + credential + "'\n"
		if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		access := kubeconfig(t, server.URL, "exec: {apiVersion: client.authentication.k8s.io/v1, command: "+plugin+", interactiveMode: Never}")
		out := carryOut(t, append(settings(), "STATIC_NODES=w=10.0.0.1", "KUBECONFIG="+access), program, strings.Fields(command)...)
		if !strings.Contains(out, "mkdir") {
			t.Errorf("%s: got %s\nwant that the plugin ran again, which it says itself", program, out)
		}
		if strings.Contains(out, "refreshing credentials") || strings.Contains(out, canary) {
			t.Errorf("%s: got %s\nwant nothing that client-go logs", program, out)
		}
	}
}

// A part of the proxy's password would be its host, which errors about connections name.
func TestContract35NoProgramShowsTheProxyOfTheEnvironment(t *testing.T) {
	const server = "https://192.0.2.1"
	local := append(settings(), "STATIC_NODES=w=10.0.0.1", "KUBECONFIG="+kubeconfig(t, server, "token: t"))
	cloud := append(settings(), "SOURCE_KIND=ionos", "IONOS_TOKEN=t", "IONOS_PRIVATE_LAN_ID=1",
		"IONOS_CLUSTER_ID=00000000-0000-0000-0000-000000000001", "IONOS_DATACENTER_ID=00000000-0000-0000-0000-000000000002")
	for _, test := range []struct {
		env     []string
		program string
		command string
	}{
		{local, built.Program(t), "check --only api"},
		{cloud, built.Program(t), "inventory"},
		{local, built.Views(t), "check"},
		{nil, built.Views(t), "get --server " + server},
	} {
		out := carryOut(t, append(test.env[:len(test.env):len(test.env)], "HTTPS_PROXY=http://"+canary+"/x@proxy:3128"), test.program, strings.Fields(test.command)...)
		if !strings.Contains(out, "HTTPS_PROXY") || strings.Contains(out, canary) {
			t.Errorf("%s: got %s\nwant an error that names HTTPS_PROXY and not its value", test.command, out)
		}
	}
}
