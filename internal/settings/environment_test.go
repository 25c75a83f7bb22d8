package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// bystanders are variables that surround ours.
func bystanders() env {
	return env{
		"PATH": "/bin", "HOME": "/home/me", "KUBECONFIG": "/local", "https_proxy": "http://proxy", "NO_PROXY": "10.0.0.0/8",
		"IONOS_TOKEN": " token ", "SECURED_SUBNET_PREFIX": "10.0.0.", "AWS_PROFILE": "me", "DATABASE_PASSWORD": "x", "EMPTY": "",
	}
}

func TestTheInventoryCommandGetsWhatTheDesignListsAndNothingElse(t *testing.T) {
	given := load(t, with(bystanders())).Command.Environment
	want := []string{
		"HOME=/home/me", "IONOS_TOKEN= token ", "KUBECONFIG=/local", "NO_PROXY=10.0.0.0/8", "PATH=/bin",
		"SECURED_SUBNET_CIDR=10.0.0.0/24", "SECURED_SUBNET_PREFIX=10.0.0.", "https_proxy=http://proxy",
	}
	got, err := given.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if got, want := fmt.Sprint(given), "[HOME IONOS_TOKEN KUBECONFIG NO_PROXY PATH SECURED_SUBNET_CIDR SECURED_SUBNET_PREFIX https_proxy]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheInventoryCommandGetsWhatIsListedForIt(t *testing.T) {
	e := with(bystanders())
	e["INVENTORY_COMMAND_ENV"] = "AWS_PROFILE,EMPTY,MISSING"
	given := load(t, e).Command.Environment
	want := []string{
		"AWS_PROFILE", "EMPTY", "HOME", "IONOS_TOKEN", "KUBECONFIG", "NO_PROXY", "PATH",
		"SECURED_SUBNET_CIDR", "SECURED_SUBNET_PREFIX", "https_proxy",
	}
	if diff := cmp.Diff(want, names(t, given)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestKubectlGetsNothingOfTheRemoteCluster(t *testing.T) {
	want := []string{
		"AWS_PROFILE", "DATABASE_PASSWORD", "EMPTY", "HOME", "KUBECONFIG", "NO_PROXY", "PATH",
		"STATIC_NODES", "TARGET_PORT", "TARGET_SERVICE_NAME", "https_proxy",
	}
	if diff := cmp.Diff(want, names(t, load(t, with(bystanders())).Store.Environment)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// names are those of the variables, in their order.
func names(t *testing.T, of settings.Environment) []string {
	t.Helper()
	entries, err := of.Read()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	return names
}

// A nil environment would make os/exec hand over our own.
func TestAnEmptyEnvironmentIsNotOurOwn(t *testing.T) {
	if got, err := (settings.Environment{}).Read(); got == nil || len(got) > 0 || err != nil {
		t.Errorf("Read() = %#v, %v; want an empty list", got, err)
	}
}
