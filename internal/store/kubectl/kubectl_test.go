package kubectl_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/kubectl"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/storetest/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// leastRights are those that the package comment names.
func leastRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		cluster.Rights("discovery.k8s.io", "endpointslices", "get", "list", "create", "update"),
		cluster.Rights("", "services", "get"),
	}
}

func TestContract27TheKubectlStoreConformsOnARealAPIServer(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{Audit: true})
	storetest.Run(t, func(t *testing.T) *storetest.Fixture {
		namespace := cluster.New(t, server, leastRights()...)
		target := storetest.Target(namespace.Name)
		environ := []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + server.UserKubeconfig(t, namespace.Name)}
		start := func() storetest.Store { return newStore(t, target, server.KubectlPath(), environ) }
		return &storetest.Fixture{
			Target: target, Store: start(), Hand: namespace, Restart: start, Requests: namespace.Requests,
		}
	})
}

// newStore makes a store that runs that program.
func newStore(t *testing.T, target plan.Target, path string, environ []string) *kubectl.Store {
	t.Helper()
	store, err := kubectl.New(kubectl.Options{
		Target: target, Path: path, Environ: func() ([]string, error) { return environ, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestAKubectlThatFailsSaysWhy(t *testing.T) {
	target := storetest.Target("default")
	for name, test := range map[string]struct {
		script, want string
	}{
		"its own words":     {"echo 'Unable to connect to the server' >&2; exit 1", "Unable to connect to the server"},
		"an odd answer":     {"echo '{'", "decode"},
		"it is not there":   {"", "no such file"},
		"it hangs":          {"exec sleep 60", context.DeadlineExceeded.Error()},
		"too large a reply": {"exec head -c 40000000 /dev/zero", "over the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/kubectl"
			if test.script != "" {
				if err := os.WriteFile(path, []byte("#!/bin/sh\n"+test.script+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			store := newStore(t, target, path, []string{"PATH=" + os.Getenv("PATH")})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if _, err := store.Load(ctx); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestContract21ConflictsAreToldByKubectlsReason(t *testing.T) {
	target := storetest.Target("default")
	for name, test := range map[string]struct {
		reason string
		want   bool
	}{
		"already there": {"AlreadyExists", true},
		"forbidden":     {"Forbidden", false},
		"no namespace":  {"NotFound", false},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/kubectl"
			if err := os.WriteFile(path, []byte("#!/bin/sh\necho 'Error from server ("+test.reason+"): it is so' >&2\nexit 1\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			store := newStore(t, target, path, []string{"PATH=" + os.Getenv("PATH")})
			write := plan.Write{Operation: plan.Create, Slice: plan.Slice{Name: target.SliceName, Family: plan.IPv4}, Trigger: time.Now()}
			if err := store.Write(t.Context(), write); err == nil || errors.Is(err, plan.ErrConflict) != test.want {
				t.Errorf("got %v, want a conflict: %t", err, test.want)
			}
		})
	}
}
