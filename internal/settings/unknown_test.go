package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

func TestLoadSuggestsWhatAnUnknownVariableMeant(t *testing.T) {
	for name, meant := range map[string]string{
		"SOURCE_KND":             "SOURCE_KIND",
		"STATIC_NODE":            "STATIC_NODES",
		"SECURED_SUBNET_CIDRS":   "SECURED_SUBNET_CIDR",
		"IONOS_TOKEN_FLE":        "IONOS_TOKEN_FILE",
		"IONOS_DATACENTER":       "IONOS_DATACENTER_ID",
		"TARGET_SERVCIE_NAME":    "TARGET_SERVICE_NAME",
		"MAX_ENDPOINTS_PERSLICE": "MAX_ENDPOINTS_PER_SLICE",
		"MAX_REMOVAL_PERCENTAGE": "MAX_REMOVAL_PERCENT",
		"HEALTH_CHECK_MOD":       "HEALTH_CHECK_MODE",
		"EMPTY_RESULT_TRESHOLD":  "EMPTY_RESULT_THRESHOLD",
		"DRAIN_PERIODS":          "DRAIN_PERIOD",
		"STORE_KINDS":            "STORE_KIND",
		"LEADER_ELECTION_NS":     "LEADER_ELECTION",
		"METRICS_ADDR":           "METRICS_ADDRESS",
		// Not one of our prefixes, but one typing error away from one.
		"LOG_LEVELL":          "LOG_LEVEL",
		"DRY_RUNN":            "DRY_RUN",
		"KUBECTL_PAHT":        "KUBECTL_PATH",
		"TARGT_PORT":          "TARGET_PORT",
		"SECURD_SUBNET_CIDR":  "SECURED_SUBNET_CIDR",
		"HEALTHCHECK_TIMEOUT": "HEALTH_CHECK_TIMEOUT",
	} {
		t.Run(name, func(t *testing.T) {
			checkMistakes(t, with(env{name: "x"}), name+": is not a variable of this program; did you mean "+meant+"?")
		})
	}
}

// A name that only begins like one of ours may belong to another program: IONOS' own
// tools, or another program in the same Pod.
func TestLoadWarnsOfForeignVariablesThatBeginLikeOurs(t *testing.T) {
	for name, meant := range map[string]string{
		"IONOS_CONTRACT_NUMBER":   "",
		"IONOS_LOG_LEVEL":         "",
		"IONOS_API_KEY":           "IONOS_API_URL",
		"IONOS_PINNED_CERT":       "",
		"ADMIN_EMAIL":             "",
		"ADMIN_ADDR":              "ADMIN_ADDRESS",
		"STATIC_URL":              "",
		"SOURCE_COLOUR":           "",
		"METRICS_ENABLED":         "",
		"STORE_PORT":              "",
		"INVENTORY_FILE":          "INVENTORY_FILE_PATH",
		"SECURED_KUBECONFIG_FILE": "SECURED_KUBECONFIG",
	} {
		t.Run(name, func(t *testing.T) {
			got := load(t, with(env{name: canary})).Warnings()
			want := name + ": is not a variable of this program and has no effect; if it belongs to another program, leave it; `config docs` lists those of this one"
			if meant != "" {
				want = name + ": is not a variable of this program and has no effect; did you mean " + meant + "? If it belongs to another program, leave it"
			}
			if len(got) != 1 || got[0].Error() != want {
				t.Errorf("got warnings %v, want\n%s", got, want)
			}
		})
	}
}

func TestLoadLeavesTheVariablesOfOthersAlone(t *testing.T) {
	e := minimal()
	for _, name := range []string{
		"PATH", "HOME", "LANG", "LOG_FILE", "GLOG_LEVEL", "KUBECTL_EXTERNAL_DIFF", "KUBE_CONFIG", "DRYRUN", "HTTP_PROXY",
		"MAX_CONNECTIONS", "HEALTH_PORT", "EMPTY", "SECURED_SUBNET_PREFIX", "SOURCE_DATE_EPOCH", "target_port", "", "=C:",
	} {
		e[name] = "x"
	}
	quiet(t, e)
}

// quiet demands a valid configuration without a warning.
func quiet(t *testing.T, e env) {
	t.Helper()
	if got := load(t, e).Warnings(); len(got) != 0 {
		t.Errorf("got warnings %v, want none", got)
	}
}

func TestLoadLeavesTheVariablesOfTheInventoryCommandAlone(t *testing.T) {
	quiet(t, with(env{"INVENTORY_COMMAND_ENV": "SOURCE_COLOUR,IONOS_LOG_LEVEL", "SOURCE_COLOUR": "red", "IONOS_LOG_LEVEL": "debug"}))
}

// The inventory command gets every IONOS_ and SECURED_ variable, so they have an
// effect. A misspelt one is still a mistake.
func TestLoadWarnsOfNoVariableThatTheInventoryCommandGets(t *testing.T) {
	command := env{"SOURCE_KIND": "command", "STATIC_NODES": "-", "INVENTORY_COMMAND": "x", "IONOS_LOG_LEVEL": "debug", "SECURED_POOL": "web"}
	quiet(t, with(command))
	command["IONOS_TOKN"] = "x"
	checkMistakes(t, with(command), "IONOS_TOKN: is not a variable of this program; did you mean IONOS_TOKEN?")
}

// Kubernetes injects these into every Pod for each Service of its namespace,
// here for Services named like our prefixes.
func TestLoadLeavesInjectedServiceLinksAlone(t *testing.T) {
	e := minimal()
	for _, service := range []string{"SOURCE", "TARGET_WEB", "STORE", "IONOS_PROXY", "HEALTH_CHECK_2", "METRICS"} {
		for name, value := range map[string]string{
			"_SERVICE_HOST": "10.96.0.1", "_SERVICE_PORT": "80", "_SERVICE_PORT_HTTP": "80", "_PORT": "tcp://10.96.0.1:80",
			"_PORT_80_TCP": "tcp://10.96.0.1:80", "_PORT_80_TCP_PROTO": "tcp", "_PORT_80_TCP_PORT": "80", "_PORT_80_TCP_ADDR": "10.96.0.1",
			"_PORT_53_UDP": "udp://[fd00::1]:53", "_PORT_53_UDP_ADDR": "fd00::1",
		} {
			e[service+name] = value
		}
	}
	e["TARGET_SERVICE_HOST"], e["TARGET_SERVICE_PORT"] = "10.96.0.1", "80"
	quiet(t, e)
}

func TestLoadTellsAnInjectedLinkFromAGuess(t *testing.T) {
	quiet(t, with(env{"ADMIN_PORT": "tcp://10.96.0.1:80"}))
	if got := load(t, with(env{"ADMIN_PORT": "8080"})).Warnings(); len(got) != 1 || got[0].Variable != "ADMIN_PORT" {
		t.Errorf("got warnings %v, want one of ADMIN_PORT", got)
	}
}

func TestUnknownVariablesNeverShowTheirValue(t *testing.T) {
	e := with(env{"IONOS_TOKN": canary, "IONOS_PASSWRD": canary, "SECURED_X": canary})
	if err := loadError(t, e); strings.Contains(err.Error(), canary) {
		t.Errorf("the value of an unknown variable is shown:\n%v", err)
	}
	if got := fmt.Sprint(load(t, with(env{"SECURED_X": canary})).Warnings()); strings.Contains(got, canary) {
		t.Errorf("the value of an unknown variable is shown:\n%v", got)
	}
}

// TestContract170WordsThatAreFarApartTakeNoMemory: others choose the names of annotations,
// and the nearest known one is looked for in each.
func TestContract170WordsThatAreFarApartTakeNoMemory(t *testing.T) {
	long, words := "example.org/"+strings.Repeat("x", 63), []string{"example.org/pool", "example.org/health-check-expected-status"}
	if got := testing.AllocsPerRun(100, func() { settings.Nearest(long, words) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
