package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// tried are settings of the chart, right and wrong ones. What they come to is not written
// here: Helm has to refuse them where the program does, and otherwise not.
var tried = map[string][]string{
	"healthCheckTimeout":          {"3s", "1s", "10ms", "9ms", "1h", "2h", "1h1s", "0s"},
	"healthCheckInterval":         {"99ms", "100ms", "1.5s", "61m", "500ms"},
	"targetPort":                  {"0", "1", "65535", "65536", "99999"},
	"securedSubnetCidr":           {"10.0.0.1/24", "10.0.0.0/24", "10.0.0.0/33", "256.0.0.0/8", "10.0.0.0/024", "fd00::/64", "fd00::1/64", "fd00:::/64", "::/0", "1:2:3:4:5:6:7:8/128", "1:2:3:4:5:6:7:8/127"},
	"metricsAddress":              {"0.0.0.0:8081", "0.0.0.0:0", "[::]:8081", ":8081", "localhost:8081", "0.0.0.0:70000", "0.0.0.0:8080", "10.0.0.256:8081"},
	"adminAddress":                {"127.0.0.1:9090", "0.0.0.0:8081", "127.0.0.1", "127.0.0.1:0"},
	"ionosApiUrl":                 {"https://api.ionos.com", "api.example.com:8443", "localhost:8443", "127.0.0.1:18181", "[fd00::1]:8443", "http://api.example.com", "https://h", "-1", "0", "NaN", "https://h:99999", "https://h/cloudapi/v5", "https://h/cloudapi/v6/", "https://user:12/34@h", "ftp://h", "https://h?x", "https://h:0"},
	"ionosDatacenterId":           {"8feda53f-15f0-447f-badf-ebe32dad2fc0", "8feda53f", "a/b"},
	"ionosClusterId":              {"8feda53f-15f0-447f-badf-ebe32dad2fc0", "my-cluster"},
	"targetNamespace":             {"prod", "Prod_1", "a.b"},
	"targetServiceName":           {"web", "web.prod", "Web", "-a"},
	"targetEndpointsliceName":     {"own", "own.more", "-web", "a..b"},
	"targetManagedBy":             {"me", "example.com/me", "controller", "endpointslice-controller.k8s.io"},
	"targetPorts":                 {"http=8080", "8080", "HTTP=8080", "http=8080/quic", "a=80\\,b=80", "a=80\\,a=81", "a=80\\,b=81", "dns=53/UDP", "a=80\\,dns=53/udp", "a=0", "http=65536"},
	"healthCheckPort":             {"8080", "0", "65536"},
	"healthCheckPath":             {"/", "/healthz"},
	"healthCheckHost":             {"web.example.com", ""},
	"healthCheckExpectedStatus":   {"200-399", "200"},
	"healthCheckTlsInsecure":      {"true", "false"},
	"healthCheckTlsServerName":    {"web.example.com"},
	"healthCheckConcurrency":      {"1", "0", "65536"},
	"healthCheckRise":             {"0", "1000", "1001"},
	"maxRemovalPercent":           {"0", "100", "101"},
	"healthCheckMaxSilentPercent": {"100", "101"},
	"emptyResultThreshold":        {"0", "1000000", "1000001"},
	"maxEndpointsPerSlice":        {"0", "1", "1000", "1001"},
	"drainPeriod":                 {"0s", "24h", "24h1s"},
	"sourcePollInterval":          {"100ms", "50ms", "24h", "25h"},
	"sourceTimeout":               {"1h", "61m"},
	"ionosPrivateLanId":           {"1", "0", "2147483648"},
	"securedNodeSelector":         {"pool=web", "pool in (a\\,b)\\,!c", "pool=(", "endpoints.ablmnzde.github.io/node-pool=a", "kubernetes.io/os=linux", "a=b\\,"},
	"remoteService":               {"shop/web", "web", "Shop/web", "shop/web/http", "shop/a.b"},
	"leaderElectionNamespace":     {"leases", "a.b"},
	"leaderElectionName":          {"own", "a/b"},
	"inventoryCommandEnv":         {"A\\,B", "A=1", "A\\,"},
	"credentialsDir":              {"/a"},
	"boundsPorts":                 {"80"},
	"boundsLeaving":               {"pay"},
}

// others are settings that go together.
var others = [][]string{
	{"healthCheckMode=http", "healthCheckTimeout=3s"},
	{"healthCheckMode=http", "healthCheckTimeout=3s", "healthCheckInterval=2s"},
	{"healthCheckMode=http", "healthCheckTimeout=1500ms", "healthCheckInterval=1.5s"},
	{"healthCheckMode=http", "healthCheckPath=healthz"}, {"healthCheckMode=http", "healthCheckPath=/a b"}, {"healthCheckMode=http", "healthCheckPath=/a%zz"}, {"healthCheckMode=http", "healthCheckPath=/prüfung"},
	{"healthCheckMode=http", "healthCheckPath=/a?b=c"}, {"healthCheckMode=http", "healthCheckHost=a:80"}, {"healthCheckMode=http", "healthCheckHost=fd00::1"},
	{"healthCheckMode=http", "healthCheckExpectedStatus=399-200"}, {"healthCheckMode=http", "healthCheckExpectedStatus=99"}, {"healthCheckMode=http", "healthCheckExpectedStatus=200-399\\,404"},
	{"healthCheckMode=http", "healthCheckTlsInsecure=true"}, {"healthCheckMode=https", "healthCheckTlsInsecure=true"}, {"healthCheckMode=tcp", "healthCheckPath=/healthz"},
	{"healthCheckMode=off", "targetPorts=dns=53/UDP"}, {"healthCheckPort=80", "targetPorts=dns=53/UDP"},
	{"ionosClusterId=8feda53f-15f0-447f-badf-ebe32dad2fc0", "securedNodeSelector=kubernetes.io/os=linux"},
	{"ionosClusterId=8feda53f-15f0-447f-badf-ebe32dad2fc0", "securedNodeSelector=pool=web"},
	{"ionosClusterId=8feda53f-15f0-447f-badf-ebe32dad2fc0", "remoteService=shop/web"}, {"sourceKind=kubernetes", "remoteService=shop/web"},
	{"sourceKind=static", "staticNodes=a=10.0.0.1", "remoteService=shop/web"},
	{"sourceKind=static", "staticNodes=a=10.0.0.1"}, {"sourceKind=static", "staticNodes=a=10.0.0.1\\,a=10.0.0.2"}, {"sourceKind=static", "staticNodes=a"}, {"sourceKind=static", "staticNodes=a=::ffff:10.0.0.1"},
	{"sourceKind=command", "inventoryCommand=python3 x.py"}, {"sourceKind=command", "inventoryCommand=python3"},
}

// TestContract163HelmRefusesWhatTheProgramRefuses: a value that the program refuses would
// end the Pods, and with it an upgrade would never be complete. Helm names the value.
func TestContract163HelmRefusesWhatTheProgramRefuses(t *testing.T) {
	all := slices.Clone(others)
	for key, values := range tried {
		for _, value := range values {
			all = append(all, []string{key + "=" + value})
		}
	}
	program := built.Program(t)
	bare, secret := withoutRules(t, chartDir, "controller"), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(stage.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, settings := range all {
		t.Run(strings.Join(settings, " "), func(t *testing.T) {
			t.Parallel()
			args := slices.Clone(readme)
			for _, s := range settings {
				args = append(args, "--set-string", "controller."+s)
			}
			helmSays := helm(t, helms[1], append([]string{"template", "edge", chartDir, "--namespace", "edge"}, args...)...)
			skipped := helm(t, helms[1], append([]string{"template", "edge", bare, "--namespace", "edge", "--skip-schema-validation"}, args...)...)
			if skipped.failed {
				t.Fatalf("without its rules: %s", skipped.stderr)
			}
			env := environment(daemonPod(t, documents(t, skipped.stdout)).Containers[0])
			for _, name := range []string{"IONOS_TOKEN_FILE", "SECURED_KUBECONFIG"} {
				if env[name] != "" {
					env[name] = secret
				}
			}
			var list []string
			for name, value := range env {
				list = append(list, name+"="+value)
			}
			programSays := run(t, list, program, "config", "validate")
			if settings[0] == "metricsAddress=0.0.0.0:0" { // the program takes any port; a Service cannot
				programSays.failed = true
			}
			if helmSays.failed != programSays.failed {
				t.Fatalf("Helm fails: %v, the program fails: %v\n%s\n%s%s", helmSays.failed, programSays.failed, helmSays.stderr, programSays.stdout, programSays.stderr)
			}
			if key, _, _ := strings.Cut(settings[len(settings)-1], "="); helmSays.failed && !strings.Contains(helmSays.stderr, key) && !strings.Contains(helmSays.stderr, "healthCheckPort") {
				t.Errorf("got no %q in\n%s", key, helmSays.stderr)
			}
		})
	}
}

// withoutRules is a chart without its own rules, which are in templates of that prefix.
func withoutRules(t *testing.T, chart, prefix string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	rules := `{{- define "` + prefix + `.validate" -}}`
	file := filepath.Join(dir, "templates", "_validate.tpl")
	text := strings.Replace(read(t, file), rules, `{{- define "`+prefix+`.validate" }}{{ end }}{{- define "`+prefix+`.unused" -}}`, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestContract163TheLimitsOfTheChartAreThoseOfTheProgram: each variable that has limits.
func TestContract163TheLimitsOfTheChartAreThoseOfTheProgram(t *testing.T) {
	all := regexp.MustCompile(`Limits: (\w+) to (\w+)\.`)
	_, text, _ := strings.Cut(read(t, filepath.Join(chartDir, "templates", "_forms.tpl")), `{{- define "controller.limits" -}}`)
	text, _, _ = strings.Cut(text, "{{- end }}")
	var want strings.Builder
	for _, v := range variables(t) {
		if m := all.FindStringSubmatch(v.meaning); m != nil {
			fmt.Fprintf(&want, "%s: [%s, %s]\n", v.key(), m[1], m[2])
		}
	}
	if diff := cmp.Diff(strings.TrimSpace(want.String()), strings.TrimSpace(text)); diff != "" {
		t.Errorf("limits (-reference +chart):\n%s", diff)
	}
}

// TestContract163AnEmptyKeyIsRefusedByName: a key without a value takes the default away, in
// a file and by --set. Helm says which.
func TestContract163AnEmptyKeyIsRefusedByName(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(chartDir, "values.yaml"))), &values); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths(values, "") {
		for _, version := range helms {
			t.Run(path+"/"+version, func(t *testing.T) {
				t.Parallel()
				args := append(append([]string{"template", "edge", chartDir}, readme...), "--set", path+"=null")
				if strings.HasPrefix(path, "image.") {
					args = append(args, "--set", "image.digest=")
				}
				got := helm(t, version, args...)
				if !got.failed {
					documents(t, got.stdout)
					return
				}
				last := path[strings.LastIndex(path, ".")+1:]
				if !strings.Contains(got.stderr, last) || strings.Contains(got.stderr, "nil pointer") || strings.Contains(got.stderr, "wrong type") {
					t.Errorf("got\n%s", got.stderr)
				}
			})
		}
	}
	got := helm(t, helms[1], append([]string{"template", "edge", chartDir, "--set", "podLabels=null,rbac.maxSlices=null,startupProbe=null,args=null,networkPolicy=null"}, readme...)...)
	for _, want := range []string{"5 mistakes in the values", "podLabels: has no value; write one, or remove the line", "rbac.maxSlices:", "startupProbe:", "args:", "networkPolicy:"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("got no %q in\n%s", want, got.stderr)
		}
	}
}

// paths are all keys, but those of maps that are free in form.
func paths(values map[string]any, prefix string) (all []string) {
	free := []string{"controller.", "podSecurityContext.", "securityContext.", "resources.", "startupProbe.", "livenessProbe.", "readinessProbe.", "metrics.dashboard.labels."}
	if slices.Contains(free, prefix) {
		return nil
	}
	for key, value := range values {
		all = append(all, prefix+key)
		if below, is := value.(map[string]any); is {
			all = append(all, paths(below, prefix+key+".")...)
		}
	}
	return all
}

// TestContract163LabelsOfTheChartAreRefusedByTheirName: not by the place of a schema.
func TestContract163LabelsOfTheChartAreRefusedByTheirName(t *testing.T) {
	for _, where := range []string{"podLabels", "commonLabels"} {
		for _, version := range helms {
			got := helm(t, version, append([]string{"template", "edge", chartDir, "--set", where + `.app\.kubernetes\.io/name=a`}, readme...)...)
			if want := where + ": the label app.kubernetes.io/name is the chart's own; remove it"; !got.failed || !strings.Contains(got.stderr, want) {
				t.Errorf("%s: got %v, %s, want %q", version, got.failed, got.stderr, want)
			}
		}
	}
}
