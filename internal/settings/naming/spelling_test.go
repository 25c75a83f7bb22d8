package naming_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// variable is the form of a variable's name.
var variable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// elsewhere are folders with texts about variables themselves, or about no target,
// with the reason.
var elsewhere = map[string]string{
	"views/xds":                        "Envoy's operators, and the settings of endpoint-views",
	"settings":                         "it says what is wrong with variables, to those who set them, and has the list",
	"endpoints/documents/environment":  "it writes variables, for those who set them",
	"endpoints/metrics":                "a help text is one for all targets",
	"archtest":                         "it contains tests only",
	"endpoints/source/ionos/ionostest": "it stands for a cloud",
}

// foreign are variables of other programs, by owner.
var foreign = map[string]string{
	"HTTP_PROXY": "the proxy of the machine", "HTTPS_PROXY": "the proxy of the machine",
	"KUBERNETES_SERVICE_HOST": "set by Kubernetes in a Pod",
	"NO_COLOR":                "no-color.org",
}

// process are the settings of the whole process, and those that no document may
// have: an IONOS_API_URL in a pool would carry the token anywhere.
var process = []string{
	"DOCUMENTS_DIR", "CREDENTIALS_DIR", "DOCUMENTS_API", "BOUNDS_SUBNETS", "BOUNDS_NAMESPACES", "BOUNDS_PORTS", "BOUNDS_LEAVING",
	"SOURCE_TIMEOUT", "INVENTORY_COMMAND_ENV", "IONOS_API_URL", "TARGET_MANAGED_BY", "MAX_ENDPOINTS_PER_SLICE", "HEALTH_CHECK_CONCURRENCY",
	"STORE_KIND", "KUBECTL_PATH", "LEADER_ELECTION", "LEADER_ELECTION_NAMESPACE", "LEADER_ELECTION_NAME", "NODE_NAME",
	"ADMIN_ADDRESS", "METRICS_ADDRESS", "LOG_LEVEL", "LOG_FORMAT", "DRY_RUN",
}

// named returns the variables that the texts of the product name, each with a
// place.
func named(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if _, ok := elsewhere[filepath.ToSlash(relative)]; ok && entry.IsDir() {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil {
				for _, name := range variable.FindAllString(text, -1) {
					all[name] = files.Position(literal.Pos()).String()
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryVariableThatAMessageNamesIsListed(t *testing.T) {
	all := named(t)
	if len(all) < 25 {
		t.Fatalf("found only %d variables: are texts still recognised?", len(all))
	}
	for name, at := range all {
		known := naming.Field(name) != "" || slices.Contains(process, name)
		// The variables of endpoint-views are no settings of a target.
		if _, others := foreign[name]; !known && !others && !strings.HasPrefix(name, "VIEWS_") && !strings.HasPrefix(name, "XDS_") && !strings.HasPrefix(name, "FLEET_") {
			t.Errorf("%s: a text names %s, which internal/settings/naming does not list as one of a document, and this test not as one of the process", at, name)
		}
	}
	for name := range foreign {
		if _, ok := all[name]; !ok {
			t.Errorf("the exception for %s is not needed any more", name)
		}
	}
}

func TestEveryListedSettingIsAVariableOfTheConfiguration(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range naming.All() {
		if seen[s.Variable] {
			t.Errorf("%s is listed twice", s.Variable)
		}
		seen[s.Variable] = true
		if !slices.ContainsFunc((settings.Config{}).Describe(), func(c settings.Setting) bool { return c.Variable == s.Variable }) {
			t.Errorf("there is no variable %s", s.Variable)
		}
		if s.Annotation != "" && s.Annotation != strings.ReplaceAll(strings.ToLower(s.Variable), "_", "-") {
			t.Errorf("%s: got annotation %q, want one that is named like the variable", s.Variable, s.Annotation)
		}
	}
}

func TestEachReaderSeesTheNameThatHeCanChange(t *testing.T) {
	t.Parallel()
	tests := []struct{ variables, fields, annotations string }{
		{
			"connection refused by 10.0.0.12:30080, 3 times in a row (HEALTH_CHECK_FALL=3): no traffic",
			"connection refused by 10.0.0.12:30080, 3 times in a row (spec.healthCheck.fall=3): no traffic",
			"connection refused by 10.0.0.12:30080, 3 times in a row (spec.healthCheck.fall=3): no traffic",
		},
		{
			"10.1.0.1 is outside SECURED_SUBNET_CIDR=10.0.0.0/24,10.0.1.0/24",
			"10.1.0.1 is outside spec.subnets=10.0.0.0/24,10.0.1.0/24",
			"10.1.0.1 is outside spec.subnets=10.0.0.0/24,10.0.1.0/24",
		},
		{
			"check HEALTH_CHECK_PATH, or the workload",
			"check spec.healthCheck.path, or the workload",
			"check endpoints.ablmnzde.github.io/health-check-path, or the workload",
		},
		{
			"not checked, counts as passing (HEALTH_CHECK_MODE=off)",
			"not checked, counts as passing (spec.healthCheck.mode=None)",
			"not checked, counts as passing (endpoints.ablmnzde.github.io/health-check-mode=None)",
		},
		{"HEALTH_CHECK_MODE=https", "spec.healthCheck.mode=HTTPS", "endpoints.ablmnzde.github.io/health-check-mode=HTTPS"},
		{"HEALTH_CHECK_FAIL_OPEN=true", "spec.guard.failOpen=true", "spec.guard.failOpen=true"},
		{"raise HEALTH_CHECK_INTERVAL, or HEALTH_CHECK_CONCURRENCY", "raise spec.healthCheck.interval, or HEALTH_CHECK_CONCURRENCY", "raise spec.healthCheck.interval, or HEALTH_CHECK_CONCURRENCY"},
		// What only looks like one of ours stays.
		{"MY_HEALTH_CHECK_FALL HEALTH_CHECK_FALLS HEALTH_CHECK_* xDRAIN_PERIOD", "MY_HEALTH_CHECK_FALL HEALTH_CHECK_FALLS HEALTH_CHECK_* xDRAIN_PERIOD", "MY_HEALTH_CHECK_FALL HEALTH_CHECK_FALLS HEALTH_CHECK_* xDRAIN_PERIOD"},
		{"", "", ""},
		{"nothing_to see", "nothing_to see", "nothing_to see"},
		{"écran DRAIN_PERIOD=30s…", "écran spec.guard.drainPeriod=30s…", "écran spec.guard.drainPeriod=30s…"},
	}
	for _, test := range tests {
		for spelled, want := range map[naming.Spelling]string{
			naming.Variables: test.variables, naming.Fields: test.fields, naming.Annotations: test.annotations,
		} {
			if got := (naming.Names{Spelling: spelled}).Of(test.variables); got != want {
				t.Errorf("%s: got %q, want %q", spelled, got, want)
			}
			if again := (naming.Names{Spelling: spelled}).Of(want); spelled != naming.Variables && again != want {
				t.Errorf("%s: spelled again, got %q, want %q", spelled, again, want)
			}
		}
	}
}

func TestNoSettingOfATargetIsLeftAsAVariable(t *testing.T) {
	t.Parallel()
	for _, s := range naming.All() {
		for _, spelled := range []naming.Spelling{naming.Fields, naming.Annotations} {
			got := naming.Names{Spelling: spelled}.Of("set " + s.Variable + "=1")
			if variable.MatchString(got) {
				t.Errorf("%s: got %q of %s", spelled, got, s.Variable)
			}
		}
	}
}

func TestATargetOfVariablesCostsNothing(t *testing.T) {
	text := "failure 2 of HEALTH_CHECK_FALL=3 in a row"
	if n := testing.AllocsPerRun(100, func() { text = naming.Names{}.Of(text) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
	plain := "connection refused by 10.0.0.1:80"
	if n := testing.AllocsPerRun(100, func() { plain = naming.Names{Spelling: naming.Fields}.Of(plain) }); n != 0 {
		t.Errorf("got %v allocations for a text that names no setting, want none", n)
	}
}

func TestASpellingThatOnlyANewerProgramKnowsChangesNothing(t *testing.T) {
	t.Parallel()
	const text = "EndpointPool blue spec.healthCheck.fall=3, HEALTH_CHECK_FALL=3"
	if got := (naming.Names{Spelling: "Haiku", Pool: "blue"}).Of(text); got != text {
		t.Errorf("got %q of %q", got, text)
	}
}
