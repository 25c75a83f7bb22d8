package settings_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// checkMistakes demands that an environment has exactly these mistakes, and
// that it makes no configuration at all.
func checkMistakes(t *testing.T, e env, want ...string) {
	t.Helper()
	c, err := environment.Load(e.list())
	var mistakes settings.Mistakes
	if !errors.As(err, &mistakes) {
		t.Fatalf("Load returned %v, want mistakes", err)
	}
	var got []string
	for _, mistake := range mistakes {
		got = append(got, mistake.Error())
		if mistake.Rule == "" || mistake.Remedy == "" {
			t.Errorf("%s: rule %q, remedy %q: one is missing", mistake.Variable, mistake.Rule, mistake.Remedy)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(settings.Config{}, c, opts); diff != "" {
		t.Errorf("Load returned part of a configuration beside its error:\n%s", diff)
	}
}

// Contract 34: an invalid configuration ends the program before any network
// call. Here that is an error before there is a configuration to act on.
func TestContract34OneMistakeOneMessage(t *testing.T) {
	for _, tt := range badValues() {
		t.Run(tt.variable+"="+tt.value, func(t *testing.T) {
			e := with(env{tt.variable: tt.value})
			if tt.variable == "TARGET_PORTS" {
				delete(e, "TARGET_PORT")
			}
			checkMistakes(t, e, fmt.Sprintf("%s=%q: %s", tt.variable, tt.value, tt.want))
		})
	}
}

// Contract 34, for variables that do not go together.
func TestContract34ContradictionsAreMistakes(t *testing.T) {
	for _, tt := range contradictions() {
		t.Run(tt.name, func(t *testing.T) { checkMistakes(t, with(tt.env), tt.want) })
	}
}

func TestLoadReportsAllMistakesTogetherInTheOrderOfTheReference(t *testing.T) {
	checkMistakes(t, env{
		"SOURCE_KIND":                     "files",
		"SOURCE_POLL_INTERVAL":            "30",
		"STATIC_NODES":                    "a=10.0.0.1,b,a=10.0.0.2",
		"SECURED_SUBNET_CIDR":             "10.1.2.3/8,fd00::1,,x",
		"IONOS_TOKEN":                     "secret-1",
		"IONOS_TOKEN_FILE":                "secret-2",
		"TARGET_PORTS":                    "http=0",
		"HEALTH_CHECK_MAX_SILENT_PERCENT": "50%",
		"STORE_KIND":                      "redis",
		"TARGET_PROT":                     "x",
		"DRY_RUNN":                        "x",
	},
		`SOURCE_KIND="files": is not one of static, file, command, ionos or kubernetes; did you mean file?`,
		`SOURCE_POLL_INTERVAL="30": is a duration without a unit; write 30s`,
		`STATIC_NODES="a=10.0.0.1,b,a=10.0.0.2": "b" is not name=address; write for example worker-1=10.0.0.11,worker-2=10.0.0.12`,
		`SECURED_SUBNET_CIDR="10.1.2.3/8,fd00::1,,x": 10.1.2.3/8 has bits set after its prefix; write 10.0.0.0/8`,
		`SECURED_SUBNET_CIDR="10.1.2.3/8,fd00::1,,x": fd00::1 is an address, not a range; write fd00::1/128`,
		`SECURED_SUBNET_CIDR="10.1.2.3/8,fd00::1,,x": has an empty entry; remove the comma, or add what is missing`,
		`SECURED_SUBNET_CIDR="10.1.2.3/8,fd00::1,,x": "x" is not an address range; write for example 10.0.0.0/24`,
		`IONOS_TOKEN: and IONOS_TOKEN_FILE are both set; remove one of them`,
		`TARGET_SERVICE_NAME: is required and not set; set it, for example to web`,
		`TARGET_PORTS="http=0": "0" is outside 1 to 65535; write a number within`,
		`HEALTH_CHECK_MAX_SILENT_PERCENT="50%": is not a whole number; write 50`,
		`STORE_KIND="redis": is not one of memory, kubectl or client-go; choose one of them`,
		`DRY_RUNN: is not a variable of this program; did you mean DRY_RUN?`,
		`TARGET_PROT: is not a variable of this program; did you mean TARGET_PORT?`,
	)
}

func TestMistakesAreCountedAndStandOnLinesOfTheirOwn(t *testing.T) {
	_, err := environment.Load(with(env{"TARGET_PORT": "0"}).list())
	want := "1 mistake in the configuration:\n" +
		"  TARGET_PORT=\"0\": is outside 1 to 65535; write for example 8080"
	if got := err.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	_, err = environment.Load(with(env{"TARGET_PORT": "0", "DRY_RUN": "x"}).list())
	if got := err.Error(); !strings.HasPrefix(got, "2 mistakes in the configuration:\n") || strings.Count(got, "\n") != 2 {
		t.Errorf("got:\n%s\nwant a count and two lines", got)
	}
}

func TestMistakesRepeatNoMoreThanALineOfAValue(t *testing.T) {
	_, err := environment.Load(with(env{"LOG_LEVEL": strings.Repeat("x", 5000) + "\nTARGET_PORT: all is well"}).list())
	if got := err.Error(); len(got) > 500 || strings.Count(got, "\n") != 1 {
		t.Errorf("%d bytes on %d lines:\n%s", len(got), strings.Count(got, "\n"), got)
	}
}

func TestTheSourceIONOSNeedsCredentialsAPlaceAndNodes(t *testing.T) {
	const chosen = " is required with SOURCE_KIND=ionos and not set; "
	whole := env{
		"SOURCE_KIND": "ionos", "STATIC_NODES": "-", "IONOS_TOKEN": "x", "IONOS_DATACENTER_ID": datacenter, "IONOS_PRIVATE_LAN_ID": "2", "IONOS_CLUSTER_ID": cluster,
	}
	for _, tt := range []struct {
		name string
		env  env
		want []string
	}{
		{"token and managed cluster", env{}, nil},
		{"kubeconfig instead", env{"IONOS_CLUSTER_ID": "-", "SECURED_KUBECONFIG": "/remote"}, nil},
		{"token in a file", env{"IONOS_TOKEN": "-", "IONOS_TOKEN_FILE": writeSecret(t, "x")}, nil},
		{"user and password", env{"IONOS_TOKEN": "-", "IONOS_USERNAME": "me", "IONOS_PASSWORD": "x"}, nil},
		{"no password", env{"IONOS_TOKEN": "-", "IONOS_USERNAME": "me"}, []string{
			"IONOS_PASSWORD: is required with IONOS_USERNAME and not set; set it or IONOS_PASSWORD_FILE, or set IONOS_TOKEN instead of both",
		}},
		{"no user", env{"IONOS_TOKEN": "-", "IONOS_PASSWORD": "x"}, []string{
			"IONOS_USERNAME: is required with IONOS_PASSWORD and not set; set it, or set IONOS_TOKEN instead of both",
		}},
		{"nothing", env{"IONOS_TOKEN": "-", "IONOS_DATACENTER_ID": "-", "IONOS_PRIVATE_LAN_ID": "-", "IONOS_CLUSTER_ID": "-"}, []string{
			"IONOS_TOKEN:" + chosen + "set it or IONOS_TOKEN_FILE, or IONOS_USERNAME and IONOS_PASSWORD",
			"IONOS_DATACENTER_ID:" + chosen + "set it, for example to 0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e",
			"IONOS_PRIVATE_LAN_ID:" + chosen + "set it, for example to 2",
			"IONOS_CLUSTER_ID:" + chosen + "set it to the UUID of the managed cluster, or set SECURED_KUBECONFIG",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := maps.Clone(whole)
			maps.Copy(all, tt.env)
			if len(tt.want) == 0 {
				load(t, with(all))
				return
			}
			checkMistakes(t, with(all), tt.want...)
		})
	}
}

// The API of managed clusters returns the labels of node pools. A label that only a
// node has needs access to the nodes, or it cannot be used in a selector.
func TestContract34ASelectorOfManagedNodesNamesWhatTheAPITells(t *testing.T) {
	const rule = `, which the IONOS API does not report; with IONOS_CLUSTER_ID alone only labels of node pools are known; ` +
		`select by a label of the node pools or by endpoints.ablmnzde.github.io/node-pool=NAME, or set SECURED_KUBECONFIG`
	managed := func(more env) env {
		all := env{
			"SOURCE_KIND": "ionos", "STATIC_NODES": "-", "IONOS_TOKEN": "x", "IONOS_DATACENTER_ID": datacenter, "IONOS_PRIVATE_LAN_ID": "2",
			"IONOS_CLUSTER_ID": cluster,
		}
		maps.Copy(all, more)
		return with(all)
	}
	for _, selector := range []string{
		"pool=web", "pool in (web, api),!edge", "example.com/tier!=db", "endpoints.ablmnzde.github.io/node-pool=web",
		"kubernetes.io/hostname=w1", "topology.kubernetes.io/zone=ZONE_1", "enterprise.cloud.ionos.com/node-id", "!node-role.kubernetes.io/control-plane",
		"!node.kubernetes.io/exclude-from-external-load-balancers",
	} {
		load(t, managed(env{"SECURED_NODE_SELECTOR": selector}))
	}
	for selector, key := range map[string]string{
		"kubernetes.io/arch=amd64":                     "kubernetes.io/arch",
		"pool=web,node-role.kubernetes.io/worker":      "node-role.kubernetes.io/worker",
		"node.kubernetes.io/instance-type in (a,b)":    "node.kubernetes.io/instance-type",
		"cloud.ionos.com/region=de-txl":                "cloud.ionos.com/region",
		"!enterprise.cloud.ionos.com/nodepool-id,a!=b": "enterprise.cloud.ionos.com/nodepool-id",
	} {
		checkMistakes(t, managed(env{"SECURED_NODE_SELECTOR": selector}), fmt.Sprintf("SECURED_NODE_SELECTOR=%q: selects by the label %s%s", selector, key, rule))
		load(t, managed(env{"SECURED_NODE_SELECTOR": selector, "SECURED_KUBECONFIG": "/remote"}))
	}
	const own = "endpoints.ablmnzde.github.io/node-pool=web"
	checkMistakes(t, managed(env{"SECURED_NODE_SELECTOR": own, "SECURED_KUBECONFIG": "/remote"}),
		`SECURED_NODE_SELECTOR="`+own+`": selects by the label endpoints.ablmnzde.github.io/node-pool, which nodes do not have; `+
			`only IONOS_CLUSTER_ID without SECURED_KUBECONFIG provides it; select by a label that the nodes have, or remove SECURED_KUBECONFIG`)
}
