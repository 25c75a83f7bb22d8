package settings_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// Ids of the IONOS Cloud; either case is good.
const (
	datacenter = "8FEDA53F-15F0-447F-BADF-EBE32DAD2FC0"
	cluster    = "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11"
)

// env is an environment that is easy to write in a table.
type env map[string]string

// minimal is the least that makes a valid configuration.
func minimal() env {
	return env{
		"STATIC_NODES":        "worker-1=10.0.0.11",
		"SECURED_SUBNET_CIDR": "10.0.0.0/24",
		"TARGET_SERVICE_NAME": "web",
		"TARGET_PORT":         "8080",
	}
}

// with returns the minimal environment with further variables; "-" removes one.
func with(more env) env {
	all := minimal()
	maps.Copy(all, more)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "-" })
	return all
}

func (e env) list() []string {
	var list []string
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// load returns the configuration of a valid environment.
func load(t *testing.T, e env) settings.Config {
	t.Helper()
	c, err := environment.Load(e.list())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

var opts = cmp.Options{
	cmpopts.IgnoreUnexported(settings.Config{}),
	cmpopts.IgnoreTypes(settings.Environment{}, settings.Secret{}),
	cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
	cmpopts.EquateEmpty(),
}

func TestLoadFillsInTheDefaultsOfTheDesign(t *testing.T) {
	got := load(t, minimal())
	want := settings.Config{
		Source:  settings.Source{Kind: settings.SourceStatic, PollInterval: 30 * time.Second, Timeout: 20 * time.Second},
		Static:  settings.Static{Nodes: []string{"worker-1=10.0.0.11"}},
		Secured: settings.SecuredCluster{Subnets: []string{"10.0.0.0/24"}},
		Target: settings.Target{
			Namespace: "default", ServiceName: "web", SliceName: "web-remote",
			ManagedBy: "ionos-endpointslice-controller", Port: 8080, MaxEndpointsPerSlice: 100,
		},
		Health: settings.Health{
			Mode: settings.HealthTCP, Path: "/", ExpectedStatus: []string{"200-399"},
			Interval: 2 * time.Second, Timeout: time.Second, Rise: 2, Fall: 3, Concurrency: 256,
		},
		Guard: settings.Guard{
			EmptyResultThreshold: 10, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
			MaxSilentPercent: 50, FailOpen: true,
		},
		Store:  settings.Store{Kind: settings.StoreMemory, KubectlPath: "kubectl"},
		Leader: settings.Leader{Namespace: "default", Name: "ionos-endpointslice-controller"},
		Listen: settings.Listen{
			Admin: netip.MustParseAddrPort("127.0.0.1:8080"), Metrics: netip.MustParseAddrPort("127.0.0.1:8081"),
		},
		Log: settings.Log{Level: "info", Format: settings.LogAuto},
	}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
}

func TestLoadFillsEveryField(t *testing.T) {
	got := load(t, env{
		"SOURCE_KIND": "command", "SOURCE_POLL_INTERVAL": "1m30s", "SOURCE_TIMEOUT": "500ms",
		"STATIC_NODES":        "a=10.0.0.1, b=fd00::1",
		"INVENTORY_FILE_PATH": "/tmp/inventory.json",
		"INVENTORY_COMMAND":   "python3", "INVENTORY_COMMAND_ARGS": `x.py --pool 'a b'`, "INVENTORY_COMMAND_ENV": "LANG, AWS_PROFILE",
		"SECURED_SUBNET_CIDR": "10.0.0.0/24, fd00:10::/64", "SECURED_KUBECONFIG": "/remote",
		"SECURED_KUBECTL_CONTEXT": "admin@remote", "SECURED_NODE_SELECTOR": "pool in (web, api),!edge",
		"IONOS_USERNAME": "me", "IONOS_API_URL": "http://127.0.0.1:8080/cloudapi/v6", "IONOS_DATACENTER_ID": datacenter,
		"IONOS_PRIVATE_LAN_ID": "2", "IONOS_CLUSTER_ID": cluster,
		"TARGET_NAMESPACE": "prod", "TARGET_SERVICE_NAME": "api", "TARGET_ENDPOINTSLICE_NAME": "api.slices",
		"TARGET_MANAGED_BY": "me", "TARGET_PORTS": "http=8080,dns=53/udp", "MAX_ENDPOINTS_PER_SLICE": "1000",
		"HEALTH_CHECK_MODE": "https", "HEALTH_CHECK_PATH": "/healthz?full=1", "HEALTH_CHECK_HOST": "web.example.com",
		"HEALTH_CHECK_PORT": "8443", "HEALTH_CHECK_EXPECTED_STATUS": "200, 301-302", "HEALTH_CHECK_INTERVAL": "100ms",
		"HEALTH_CHECK_TIMEOUT": "100ms", "HEALTH_CHECK_RISE": "1", "HEALTH_CHECK_FALL": "1", "HEALTH_CHECK_CONCURRENCY": "1",
		"HEALTH_CHECK_TLS_SERVER_NAME": "backend", "HEALTH_CHECK_TLS_INSECURE": "true",
		"EMPTY_RESULT_THRESHOLD": "0", "MAX_REMOVAL_PERCENT": "0", "DRAIN_PERIOD": "0s",
		"HEALTH_CHECK_MAX_SILENT_PERCENT": "100", "HEALTH_CHECK_FAIL_OPEN": "false",
		"STORE_KIND": "kubectl", "KUBECONFIG": "/a:/b", "KUBECTL_PATH": "/usr/bin/kubectl",
		"LEADER_ELECTION": "true", "LEADER_ELECTION_NAMESPACE": "infra", "LEADER_ELECTION_NAME": "lease", "NODE_NAME": "node-1",
		"LOG_LEVEL": "debug", "LOG_FORMAT": "json", "DRY_RUN": "true",
	})
	want := settings.Config{
		Source:  settings.Source{Kind: settings.SourceCommand, PollInterval: 90 * time.Second, Timeout: 500 * time.Millisecond},
		Static:  settings.Static{Nodes: []string{"a=10.0.0.1", "b=fd00::1"}},
		File:    settings.File{Path: "/tmp/inventory.json"},
		Command: settings.Command{Path: "python3", Args: "x.py --pool 'a b'", Env: []string{"LANG", "AWS_PROFILE"}},
		Secured: settings.SecuredCluster{
			Subnets:    []string{"10.0.0.0/24", "fd00:10::/64"},
			Kubeconfig: "/remote", Context: "admin@remote", NodeSelector: "pool in (web, api),!edge",
		},
		IONOS: settings.IONOS{
			Username: "me", APIURL: "http://127.0.0.1:8080/cloudapi/v6", DatacenterID: datacenter, PrivateLANID: 2, ClusterID: cluster,
		},
		Target: settings.Target{
			Namespace: "prod", ServiceName: "api", SliceName: "api.slices", ManagedBy: "me", MaxEndpointsPerSlice: 1000,
			Ports: []string{"http=8080", "dns=53/udp"},
		},
		Health: settings.Health{
			Mode: settings.HealthHTTPS, Path: "/healthz?full=1", Host: "web.example.com", Port: 8443,
			ExpectedStatus: []string{"200", "301-302"},
			Interval:       100 * time.Millisecond, Timeout: 100 * time.Millisecond, Rise: 1, Fall: 1, Concurrency: 1,
			TLSServerName: "backend", TLSInsecure: true,
		},
		Guard:  settings.Guard{MaxSilentPercent: 100},
		Store:  settings.Store{Kind: settings.StoreKubectl, Kubeconfig: "/a:/b", KubectlPath: "/usr/bin/kubectl"},
		Leader: settings.Leader{Election: true, Namespace: "infra", Name: "lease", NodeName: "node-1"},
		Listen: settings.Listen{
			Admin: netip.MustParseAddrPort("127.0.0.1:8080"), Metrics: netip.MustParseAddrPort("127.0.0.1:8081"),
		},
		Log: settings.Log{Level: "debug", Format: "json"},
		Run: settings.Run{DryRun: true},
	}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
}

func TestLoadTakesABlankVariableAsUnset(t *testing.T) {
	for _, blank := range []string{"", " ", "\t\n"} {
		e := minimal()
		for _, setting := range (settings.Config{}).Describe() {
			if _, needed := e[setting.Variable]; !needed {
				e[setting.Variable] = blank
			}
		}
		e["TARGET_UNKNOWN"] = blank
		if diff := cmp.Diff(load(t, minimal()), load(t, e), opts); diff != "" {
			t.Errorf("blank %q differs from unset (-unset +blank):\n%s", blank, diff)
		}
	}
}

func TestLoadTakesABlankRequiredVariableAsMissing(t *testing.T) {
	checkMistakes(t, with(env{"TARGET_SERVICE_NAME": " "}),
		`TARGET_SERVICE_NAME: is required and not set; set it, for example to web`)
}

func TestLoadReadsItsArgumentAndNotTheProcess(t *testing.T) {
	t.Setenv("TARGET_NAMESPACE", "elsewhere")
	t.Setenv("TARGET_UNKNOWN", "x")
	if got := load(t, minimal()).Target.Namespace; got != "default" {
		t.Errorf("namespace %q comes from the process' own environment", got)
	}
	if !slices.Contains(settings.Environ(), "TARGET_NAMESPACE=elsewhere") {
		t.Error("Environ does not return the environment of the process")
	}
}

func TestLoadTakesTheFirstOfTwoLikeGetenv(t *testing.T) {
	c, err := environment.Load(append([]string{"TARGET_NAMESPACE=first", "TARGET_NAMESPACE=second"}, minimal().list()...))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Target.Namespace; got != "first" {
		t.Errorf("namespace = %q, want first", got)
	}
}

func TestLoadDerivesDefaultsFromOtherVariables(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  env
		get  func(settings.Config) any
		want any
	}{
		{"slice name from the service", env{"TARGET_SERVICE_NAME": "api"},
			func(c settings.Config) any { return c.Target.SliceName }, "api-remote"},
		{"lease namespace from the target's", env{"TARGET_NAMESPACE": "prod"},
			func(c settings.Config) any { return c.Leader.Namespace }, "prod"},
		{"time-out no longer than a short interval", env{"HEALTH_CHECK_INTERVAL": "200ms"},
			func(c settings.Config) any { return c.Health.Timeout }, 200 * time.Millisecond},
		{"interval no shorter than a long time-out", env{"HEALTH_CHECK_TIMEOUT": "3s"},
			func(c settings.Config) any { return c.Health.Interval }, 3 * time.Second},
		{"an interval of its own beside a short time-out", env{"HEALTH_CHECK_TIMEOUT": "500ms"},
			func(c settings.Config) any { return c.Health.Interval }, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.get(load(t, with(tt.env))); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
