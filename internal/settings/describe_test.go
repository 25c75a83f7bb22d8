package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// setting returns the row of one variable.
func setting(t *testing.T, c settings.Config, variable string) settings.Setting {
	t.Helper()
	for _, s := range c.Describe() {
		if s.Variable == variable {
			return s
		}
	}
	t.Fatalf("no row for %s", variable)
	return settings.Setting{}
}

func TestDescribeNamesValueAndOrigin(t *testing.T) {
	path := writeSecret(t, canary)
	c := load(t, with(env{
		"SOURCE_POLL_INTERVAL": "3600s", "DRAIN_PERIOD": "0", "HEALTH_CHECK_EXPECTED_STATUS": "200-299, 404", "HEALTH_CHECK_MODE": "http",
		"SECURED_SUBNET_CIDR": " 10.0.0.0/24 , fd00:10::/64", "INVENTORY_COMMAND_ARGS": `--pool "a b" \$x`, "DRY_RUN": "1",
		"IONOS_TOKEN": canary, "IONOS_PASSWORD_FILE": path,
	}))
	for _, want := range []settings.Setting{
		{Variable: "SOURCE_KIND", Value: "static", Origin: settings.FromDefault},
		{Variable: "SOURCE_POLL_INTERVAL", Value: "1h", Origin: settings.FromEnvironment},
		{Variable: "DRAIN_PERIOD", Value: "0s", Origin: settings.FromEnvironment},
		{Variable: "STATIC_NODES", Value: "worker-1=10.0.0.11", Origin: settings.FromEnvironment},
		{Variable: "SECURED_SUBNET_CIDR", Value: "10.0.0.0/24,fd00:10::/64", Origin: settings.FromEnvironment},
		{Variable: "SECURED_NODE_SELECTOR", Unset: "workers only", Origin: settings.FromDefault},
		{Variable: "INVENTORY_COMMAND_ARGS", Value: `--pool "a b" \$x`, Origin: settings.FromEnvironment},
		{Variable: "HEALTH_CHECK_EXPECTED_STATUS", Value: "200-299,404", Origin: settings.FromEnvironment},
		{Variable: "HEALTH_CHECK_PORT", Unset: "target port", Origin: settings.FromDefault},
		{Variable: "TARGET_ENDPOINTSLICE_NAME", Value: "web-remote", Origin: settings.Derived},
		{Variable: "TARGET_PORTS", Origin: settings.FromDefault},
		{Variable: "IONOS_PRIVATE_LAN_ID", Origin: settings.FromDefault},
		{Variable: "IONOS_TOKEN", Value: "********", Origin: settings.FromEnvironment, Secret: true},
		{Variable: "IONOS_TOKEN_FILE", Origin: settings.FromDefault},
		{Variable: "IONOS_PASSWORD", Value: "********", Origin: settings.FromFile, Secret: true},
		{Variable: "IONOS_PASSWORD_FILE", Value: path, Origin: settings.FromEnvironment},
		{Variable: "EMPTY_RESULT_THRESHOLD", Value: "10", Origin: settings.FromDefault},
		{Variable: "ADMIN_ADDRESS", Value: "127.0.0.1:8080", Origin: settings.FromDefault},
		{Variable: "DRY_RUN", Value: "true", Origin: settings.FromEnvironment},
	} {
		if diff := cmp.Diff(want, setting(t, c, want.Variable)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Variable, diff)
		}
	}
}

func TestDescribeShowsWhatAFlagChanged(t *testing.T) {
	c := load(t, minimal())
	c.Run.DryRun = true
	if got := setting(t, c, "DRY_RUN").Value; got != "true" {
		t.Errorf("DRY_RUN = %q after it was switched on, want true", got)
	}
}

func TestWhatDescribePrintsLoadsAgainAsTheSame(t *testing.T) {
	first := load(t, with(env{
		"SOURCE_KIND": "command", "INVENTORY_COMMAND": "x", "INVENTORY_COMMAND_ARGS": `'it'\''s' "" \# a`, "INVENTORY_COMMAND_ENV": "B,A",
		"STATIC_NODES": "-", "TARGET_PORT": "-", "TARGET_PORTS": "b=80, a=53/udp, c=81/sctp", "HEALTH_CHECK_MODE": "https",
		"HEALTH_CHECK_EXPECTED_STATUS": "500-599,200", "HEALTH_CHECK_INTERVAL": "1m1s", "DRAIN_PERIOD": "1h0m30s",
	}))
	again := env{}
	for _, s := range first.Describe() {
		if s.Origin == settings.FromEnvironment {
			again[s.Variable] = s.Value
		}
	}
	if diff := cmp.Diff(first, load(t, again), opts); diff != "" {
		t.Errorf("first and second load differ:\n%s", diff)
	}
}

func TestSettingsPrintAsATableAndAsJSON(t *testing.T) {
	values := load(t, with(env{"INVENTORY_COMMAND_ARGS": "'a\nb'", "IONOS_TOKEN": canary})).Describe()
	text := values.String()
	for _, want := range []string{
		"VARIABLE ", "\nTARGET_PORT ", " 8080 ", `"'a\nb'"`, "(address of the endpoint)", "********", " derived\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	if got, want := strings.Count(text, "\n"), len(values)+1; got != want {
		t.Errorf("%d lines, want %d:\n%s", got, want, text)
	}
	got, err := json.Marshal(values[:1])
	if want := `{"apiVersion":"v1","settings":[{"variable":"SOURCE_KIND","value":"static","origin":"default","secret":false}]}`; err != nil || string(got) != want {
		t.Errorf("JSON: %s, %v; want %s", got, err, want)
	}
}
