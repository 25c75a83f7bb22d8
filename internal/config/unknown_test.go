package config_test

import (
	"strings"
	"testing"
)

func TestLoadSuggestsWhatAnUnknownVariableMeant(t *testing.T) {
	for name, meant := range map[string]string{
		"SOURCE_KND":              "SOURCE_KIND",
		"STATIC_NODE":             "STATIC_NODES",
		"INVENTORY_FILE":          "INVENTORY_FILE_PATH",
		"SECURED_SUBNET_CIDRS":    "SECURED_SUBNET_CIDR",
		"SECURED_KUBECONFIG_FILE": "SECURED_KUBECONFIG",
		"IONOS_TOKEN_FLE":         "IONOS_TOKEN_FILE",
		"TARGET_SERVICE":          "TARGET_SERVICE_NAME",
		"TARGET_SERVCIE_NAME":     "TARGET_SERVICE_NAME",
		"MAX_ENDPOINTS_PERSLICE":  "MAX_ENDPOINTS_PER_SLICE",
		"MAX_REMOVAL_PERCENTAGE":  "MAX_REMOVAL_PERCENT",
		"HEALTH_CHECK_MOD":        "HEALTH_CHECK_MODE",
		"EMPTY_RESULT_TRESHOLD":   "EMPTY_RESULT_THRESHOLD",
		"DRAIN_PERIODS":           "DRAIN_PERIOD",
		"STORE_KINDS":             "STORE_KIND",
		"LEADER_ELECTION_NS":      "LEADER_ELECTION",
		"ADMIN_ADDR":              "ADMIN_ADDRESS",
		"METRICS_ADDR":            "METRICS_ADDRESS",
		// Without a prefix of ours, but one slip away.
		"LOG_LEVELL":          "LOG_LEVEL",
		"DRY_RUNN":            "DRY_RUN",
		"KUBECTL_PAHT":        "KUBECTL_PATH",
		"TARGT_PORT":          "TARGET_PORT",
		"SECURD_SUBNET_CIDR":  "SECURED_SUBNET_CIDR",
		"HEALTHCHECK_TIMEOUT": "HEALTH_CHECK_TIMEOUT",
	} {
		t.Run(name, func(t *testing.T) {
			checkMistakes(t, with(env{name: "x"}), name+": is no variable of this program; did you mean "+meant+"?")
		})
	}
}

func TestLoadRefusesUnknownVariablesThatResembleNothing(t *testing.T) {
	for _, name := range []string{"SOURCE_COLOUR", "IONOS_LOG_VERBOSITY", "HEALTH_CHECK_X", "METRICS_ENABLED", "STORE_PORT", "ADMIN_SERVICE_HOST"} {
		t.Run(name, func(t *testing.T) {
			checkMistakes(t, with(env{name: "8080x"}),
				name+": is no variable of this program; remove it; or name it in INVENTORY_COMMAND_ENV, if it is for the inventory command")
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
	load(t, e)
}

func TestLoadLeavesTheVariablesOfTheInventoryCommandAlone(t *testing.T) {
	load(t, with(env{"INVENTORY_COMMAND_ENV": "SOURCE_COLOUR,IONOS_LOG_LEVEL", "SOURCE_COLOUR": "red", "IONOS_LOG_LEVEL": "debug"}))
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
	load(t, e)
}

func TestLoadTellsAnInjectedLinkFromAGuess(t *testing.T) {
	load(t, with(env{"ADMIN_PORT": "tcp://10.96.0.1:80"}))
	checkMistakes(t, with(env{"ADMIN_PORT": "8080"}),
		"ADMIN_PORT: is no variable of this program; remove it; or name it in INVENTORY_COMMAND_ENV, if it is for the inventory command")
}

func TestUnknownVariablesNeverShowTheirValue(t *testing.T) {
	e := with(env{"IONOS_TOKN": canary, "IONOS_PASSWRD": canary, "SECURED_X": canary})
	if err := loadError(t, e); strings.Contains(err.Error(), canary) {
		t.Errorf("the value of an unknown variable is shown:\n%v", err)
	}
}
