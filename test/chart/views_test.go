package chart_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// complete are values of endpoint-views without a mistake.
var complete = []string{
	"--set", "image.tag=0.1.0", "--set", "namespaces={shop}", "--set", "tls.secretName=endpoint-views-tls",
	"--set", "clients[0].name=edge/haproxy", "--set", "clients[0].namespaces={shop}", "--set", "clients[0].tokenSecret.name=haproxy-token",
}

func TestMistakesInTheValuesOfViewsAreReportedByName(t *testing.T) {
	but := func(more ...string) []string { return slices.Concat(complete, more) }
	clients := func(list string) []string { return append(complete[:6:6], "--set-json", "clients="+list) }
	reported(t, viewsDir, map[string]mistake{
		"nothing set":                 {nil, []string{"image.tag", "tls.secretName: required"}},
		"no certificate":              {but("--set", "tls.secretName="), []string{"tls.secretName: required", "name a Secret of type kubernetes.io/tls"}},
		"two authorities":             {but("--set", "tls.clientCA.secretName=a,tls.clientCA.configMapName=b"), []string{"tls.clientCA: names a Secret and a ConfigMap"}},
		"all and one namespace":       {but("--set", "namespaces={*,shop}"), []string{"namespaces:", "write it alone"}},
		"a namespace that is none":    {but("--set", "namespaces={Shop}"), []string{"namespaces"}},
		"a namespace twice":           {but("--set", "namespaces={shop,shop}"), []string{"namespaces"}},
		"a client with no name":       {but("--set", "clients[0].name=haproxy"), []string{"clients", "name"}},
		"a client that sees nothing":  {clients(`[{"name":"edge/haproxy","namespaces":[],"tokenSecret":{"name":"x"}}]`), []string{"clients", "namespaces"}},
		"a client without credential": {clients(`[{"name":"edge/haproxy","namespaces":["shop"]}]`), []string{"clients: edge/haproxy has no tokenSecret", "tls.clientCA"}},
		"a client twice": {
			clients(`[{"name":"a/b","namespaces":["*"],"tokenSecret":{"name":"x"}},{"name":"a/b","namespaces":["*"],"tokenSecret":{"name":"y"}}]`),
			[]string{"clients: a/b is listed twice"},
		},
		"a namespace not shown":   {but("--set", "clients[0].namespaces={blog}"), []string{"clients: edge/haproxy may see the namespace blog", "add it to namespaces"}},
		"a token with no Secret":  {but("--set", "clients[0].tokenSecret.name="), []string{"tokenSecret", "name"}},
		"a token in the values":   {but("--set", "clients[0].token=secret"), []string{"clients", "token"}},
		"views on loopback":       {but("--set", "views.viewsAddress=127.0.0.1:8443"), []string{"views.viewsAddress: a loopback address"}},
		"probes of loopback":      {but("--set", `views.metricsAddress=[::1]:8083`), []string{"views.metricsAddress: a loopback address"}},
		"one port for both":       {but("--set", "views.metricsAddress=0.0.0.0:8443"), []string{"views.metricsAddress: has the port of views.viewsAddress"}},
		"no address":              {but("--set", "views.viewsAddress="), []string{"viewsAddress"}},
		"too many clients":        {but("--set", "views.viewsMaxClients=10001"), []string{"viewsMaxClients"}},
		"an unknown variable":     {but("--set", "views.viewsMaxClient=1"), []string{"views", "viewsMaxClient"}},
		"an unknown key":          {but("--set", "replicas=2"), []string{"replicas"}},
		"a level that is none":    {but("--set", "views.logLevel=loud"), []string{"logLevel"}},
		"an account without name": {but("--set", "serviceAccount.create=false"), []string{"serviceAccount.name"}},
		"a digest that is none":   {but("--set", "image.digest=latest"), []string{"digest"}},
		"an API server, no ports": {but("--set-json", "networkPolicy.egress.kubernetes.ports=[]"), []string{"kubernetes", "ports"}},
	})
}

// TestEveryVariableOfViewsIsReachable: the values files together set each variable that
// the program has, and no other. A kubeconfig has no place in a Pod.
func TestEveryVariableOfViewsIsReachable(t *testing.T) {
	want := map[string]bool{"LOG_LEVEL": true, "LOG_FORMAT": true}
	text, err := os.ReadFile("../../internal/config/views.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`envconfig:"([A-Z_]+)"`).FindAllStringSubmatch(string(text), -1) {
		want[m[1]] = m[1] != "KUBECONFIG"
	}
	got := map[string]bool{"KUBECONFIG": false}
	for _, file := range combinations(t, viewsDir) {
		for name := range environment(daemonPod(t, documents(t, renderOf(t, viewsDir, helms[1], "--values", file))).Containers[0]) {
			got[name] = true
		}
	}
	if !maps.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAReleasedChartOfViewsKnowsItsImage(t *testing.T) {
	got, _ := packageChart(t, helms[1], changelog, "v9.8.7", "--chart", "endpoint")
	if !got.failed || !strings.Contains(got.stderr, "there is no chart helm/endpoint") {
		t.Errorf("a chart that is none: got %v, %s", got.failed, got.stderr)
	}
	got, daemon := packageChart(t, helms[1], changelog, "v9.8.7", "--chart", "endpoint-views")
	if got.failed {
		t.Fatal(got.stderr)
	}
	chart := filepath.Join(filepath.Dir(daemon), "endpoint-views-9.8.7.tgz")
	const image = "ghcr.io/ablmnzde/ionoscloud-endpointslice-controller:v9.8.7-endpoint-views"
	rendered := helm(t, helms[1], append([]string{"template", "edge", chart, "--namespace", "edge"}, complete[2:]...)...)
	if rendered.failed || !strings.Contains(rendered.stdout, `image: "`+image+`"`) {
		t.Errorf("got no image %q in\n%s%s", image, rendered.stdout, rendered.stderr)
	}
	var images []struct {
		Name, Image string
		Platforms   []string
	}
	if described(t, chart, "images", &images); len(images) != 1 || images[0].Image != image {
		t.Errorf("got images %+v, want %s", images, image)
	}
}
