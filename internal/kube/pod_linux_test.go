package kube_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// In a Pod client-go uses the Pod's own cluster if a kubeconfig names none.
func TestContract34AKubeconfigThatSaysNothingNeverMeansThePodsCluster(t *testing.T) {
	requireMounts(t)
	if !again(t, mountsOfItsOwn) {
		return
	}
	enterPod(t)
	inPod := access("")
	inPod.InCluster = true
	if config, err := inPod.Config(); err != nil || config.Host != "https://127.0.0.1:1" || config.BearerToken != canary {
		t.Fatalf("got %v, %v, want the Pod's own cluster where there is no kubeconfig", config, err)
	}
	for name, text := range map[string]string{
		"empty":              "",
		"nothing in it":      "apiVersion: v1\nkind: Config\n",
		"no current context": "{contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]}",
		"no such context":    "current-context: other\n",
		"no such cluster":    "{current-context: c, contexts: [{name: c, context: {cluster: other}}]}",
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, "kubeconfig", text)
			inPod.Kubeconfig = path
			_, err := inPod.Config()
			if err == nil || !strings.Contains(err.Error(), "KUBECONFIG="+path) {
				t.Errorf("got %v, want an error that names KUBECONFIG and the file", err)
			}
		})
	}
}

// enterPod makes this process see what client-go looks for in a Pod.
func enterPod(t *testing.T) {
	t.Helper()
	secrets := "/var/run/secrets/kubernetes.io/serviceaccount"
	for _, do := range []func() error{
		func() error { return syscall.Mount("tmpfs", "/var/run", "tmpfs", 0, "") },
		func() error { return os.MkdirAll(secrets, 0o700) },
		func() error { return os.WriteFile(secrets+"/token", []byte(canary), 0o600) },
	} {
		if err := do(); err != nil {
			t.Fatal(err) // before anything is written on the machine itself
		}
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "1")
}

// mountsOfItsOwn gives a process mounts that no other process sees. Root may do that at once,
// others as root of a namespace of their own.
func mountsOfItsOwn(child *exec.Cmd) {
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		child.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: id, Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
}

// requireMounts skips the test where the machine allows no mounts, unless CI=true says
// that it must have everything.
func requireMounts(t *testing.T) {
	t.Helper()
	try := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "tmpfs", "/var/run")
	mountsOfItsOwn(try)
	if out, err := try.CombinedOutput(); err != nil {
		reason := "no mounts of its own: " + err.Error() + " " + string(out)
		if os.Getenv("CI") == "true" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
}
