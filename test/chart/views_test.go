package chart_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// complete are values of endpoint-views without a mistake.
var complete = []string{
	"--set", "image.tag=0.1.0", "--set", "namespaces={shop}", "--set", "tls.secretName=endpoint-views-tls",
	"--set", "clients[0].name=edge/haproxy", "--set", "clients[0].namespaces={shop}", "--set", "clients[0].tokenSecret.name=haproxy-token",
}

// xdsOn are values that serve xDS, and others.
func xdsOn(more ...string) []string {
	return append([]string{"--set", "xds.enabled=true,tls.clientCA.secretName=clients"}, more...)
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
		"the operator among the clients": {
			slices.Concat(fleetOn(), []string{"--namespace", "infra", "--set-json", `clients=[{"name":"infra/edge-endpoint-views-fleet","namespaces":["*"],"tokenSecret":{"name":"x"}}]`}), []string{"clients: infra/edge-endpoint-views-fleet is listed twice"},
		},
		"one token for two": {
			clients(`[{"name":"a/b","namespaces":["*"],"tokenSecret":{"name":"x"}},{"name":"a/c","namespaces":["*"],"tokenSecret":{"name":"x","key":"token"}}]`), []string{"clients: two have the token of the Secret x, key token", "give each its own"},
		},
		"a client with no name of DNS": {clients(`[{"name":"a/b..c","namespaces":["*"],"tokenSecret":{"name":"x"}}]`), []string{"clients", "name"}},
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
		"xDS without authority":   {but("--set", "xds.enabled=true"), []string{"xds.enabled: needs an authority of client certificates", "tls.clientCA.secretName"}},
		"xDS on loopback":         {but(xdsOn("--set", "views.xdsAddress=127.0.0.1:18000")...), []string{"views.xdsAddress: a loopback address"}},
		"xDS on a port that is taken": {
			but(xdsOn("--set", "views.xdsAddress=0.0.0.0:8443,service.xdsPort=443")...), []string{"views.xdsAddress: has the port of views.viewsAddress", "service.xdsPort: is service.port too"},
		},
		"a fleet, and no xDS":       {but("--set", "xds.fleets[0].name=shop/edge"), []string{"xds.fleets: has no effect without xDS", "xds.enabled=true"}},
		"objects, and no xDS":       {but("--set", "xds.watchFleets=true"), []string{"xds.watchFleets: has no effect without xDS"}},
		"a listener of nothing":     {but(xdsOn("--set-json", `xds.fleets=[{"name":"shop/edge","listeners":[{"port":80}]}]`)...), []string{"service"}},
		"a setting, and no xDS":     {but("--set", "views.xdsRetries=3"), []string{"views.xdsRetries: has no effect without xDS"}},
		"who may come, and no xDS":  {but("--set-json", `networkPolicy.xdsFrom=[{"podSelector":{}}]`), []string{"networkPolicy.xdsFrom: has no effect without xDS"}},
		"a fleet with no namespace": {but(xdsOn("--set", "xds.fleets[0].name=edge")...), []string{"fleets", "name"}},
		"a fleet twice":             {but(xdsOn("--set", "xds.fleets[0].name=shop/edge,xds.fleets[1].name=shop/edge")...), []string{"xds.fleets: shop/edge is listed twice"}},
		"a listener twice": {
			but(xdsOn("--set-json", `xds.fleets=[{"name":"shop/edge","listeners":[{"port":80,"service":"web"},{"port":80,"service":"api"}]}]`)...),
			[]string{"xds.fleets: shop/edge has two listeners of port 80"},
		},
		"a listener of UDP": {
			but(xdsOn("--set-json", `xds.fleets=[{"name":"shop/edge","listeners":[{"port":80,"service":"web","protocol":"UDP"}]}]`)...), []string{"protocol"},
		},
		"a listener of no port":   {but(xdsOn("--set-json", `xds.fleets=[{"name":"shop/edge","listeners":[{"service":"web"}]}]`)...), []string{"port"}},
		"too many retries":        {but(xdsOn("--set", "views.xdsRetries=21")...), []string{"xdsRetries"}},
		"an API server, no ports": {but("--set-json", "networkPolicy.egress.kubernetes.ports=[]"), []string{"kubernetes", "ports"}},
	})
}

// fleetOn are values with the operator of fleets and certificates by the Job, and others.
func fleetOn(more ...string) []string {
	return append([]string{
		"--set", "image.tag=0.1.0,namespaces={shop},xds.enabled=true,fleet.enabled=true,certificates.by=job",
		"--set", "fleet.envoyImage=envoyproxy/envoy@sha256:" + strings.Repeat("0123456789abcdef", 4),
		"--set", "certificates.fleets[0].name=shop/edge",
	}, more...)
}

func TestMistakesInTheValuesOfFleetsAreReportedByName(t *testing.T) {
	reported(t, viewsDir, map[string]mistake{
		"nothing but on":               {[]string{"--set", "image.tag=1,fleet.enabled=true"}, []string{"fleet.enabled: needs xDS", "fleet.envoyImage: required; name an image of Envoy by its digest", "fleet.secretName: required"}},
		"Envoy by a tag":               {fleetOn("--set", "fleet.envoyImage=envoyproxy/envoy:v1.36"), []string{"fleet.envoyImage: envoyproxy/envoy:v1.36 is no image by its digest", "REPOSITORY@sha256:...; docs/how-to/fleets.md says how to get one"}},
		"a namespace that has no view": {fleetOn("--set", "fleet.namespaces={blog}"), []string{"fleet.namespaces: blog is not among the namespaces that are shown", "add it to namespaces"}},
		"all and one namespace":        {fleetOn("--set", "namespaces={*},fleet.namespaces={*,shop}"), []string{"fleet.namespaces:", "write it alone"}},
		"an account without name":      {fleetOn("--set", "fleet.serviceAccount.create=false"), []string{"fleet.serviceAccount.name: needed"}},
		"a Secret that is made":        {fleetOn("--set", "fleet.secretName=own"), []string{"fleet.secretName: certificates.by=job makes it"}},
		"two certificates":             {fleetOn("--set", "tls.secretName=own"), []string{"certificates.by: job makes the certificate of the server", "leave tls.secretName and tls.clientCA empty"}},
		"two authorities":              {fleetOn("--set", "tls.clientCA.secretName=own"), []string{"certificates.by: job makes"}},
		"fleets, and no operator":      {append(complete[:6:6], "--set", "fleet.namespaces={shop},metrics.podMonitor.enabled=true"), []string{"fleet.namespaces: has no effect without the operator", "metrics.podMonitor.enabled: has no effect"}},
		"certificates by nobody":       {append(complete[:6:6], "--set", "certificates.fleets[0].name=shop/edge"), []string{"certificates.fleets: has no effect without certificates.by"}},
		"certificates, and no xDS":     {[]string{"--set", "image.tag=1,certificates.by=job,certificates.fleets[0].name=shop/edge"}, []string{"certificates.fleets: has no effect without xDS"}},
		"certificates by a stranger":   {fleetOn("--set", "certificates.by=vault"), []string{"certificates", "by"}},
		"no issuer":                    {fleetOn("--set", "certificates.by=cert-manager,fleet.secretName=own"), []string{"certificates.issuerRef: needed with certificates.by=cert-manager"}},
		"an issuer of nothing":         {fleetOn("--set", "certificates.issuerRef.name=ours"), []string{"certificates.issuerRef", "only then"}},
		"a fleet twice":                {fleetOn("--set", "certificates.fleets[1].name=shop/edge"), []string{"certificates.fleets: shop/edge is listed twice"}},
		"a Secret twice":               {fleetOn("--set", "certificates.fleets[1].name=shop/front,certificates.fleets[1].secretName=edge-xds"), []string{"certificates.fleets: shop/front is listed twice, or its Secret edge-xds is"}},
		"a Secret of the release":      {fleetOn("--namespace", "shop", "--set", "certificates.fleets[0].secretName=edge-endpoint-views-authority"), []string{"the Secret edge-endpoint-views-authority of shop/edge is one of the release"}},
		"a fleet with no namespace":    {fleetOn("--set", "certificates.fleets[0].name=edge"), []string{"certificates", "name"}},
		"a schedule that is none":      {fleetOn("--set", "certificates.schedule=hourly"), []string{"schedule"}},
		"an unknown key":               {fleetOn("--set", "fleet.image=x"), []string{"fleet", "image"}},
	}, helms[1])
}

// TestEveryVariableOfViewsIsReachable: the values files together set each variable that
// the programs have, and no other. A kubeconfig has no place in a Pod.
func TestEveryVariableOfViewsIsReachable(t *testing.T) {
	want := map[string]bool{"LOG_LEVEL": true, "LOG_FORMAT": true}
	text, err := os.ReadFile("../../internal/settings/views.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`envconfig:"([A-Z_]+)"`).FindAllStringSubmatch(string(text), -1) {
		want[m[1]] = m[1] != "KUBECONFIG"
	}
	got := map[string]bool{"KUBECONFIG": false}
	for _, file := range combinations(t, viewsDir) {
		objects := documents(t, renderOf(t, viewsDir, helms[1], "--values", file))
		pods := []corev1.PodSpec{daemonPod(t, objects)}
		if operator := operatorPod(objects); operator != nil {
			pods = append(pods, *operator)
		}
		for _, pod := range pods {
			for name := range environment(pod.Containers[0]) {
				got[name] = true
			}
		}
	}
	if !maps.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTheProgramTakesTheFleetsOfTheChart reads the rendered files as the program does.
func TestTheProgramTakesTheFleetsOfTheChart(t *testing.T) {
	var found []string
	for name, file := range combinations(t, viewsDir) {
		for _, object := range documents(t, renderOf(t, viewsDir, helms[1], "--values", file)) {
			of, is := object.(*corev1.ConfigMap)
			if !is || of.Data["fleets.yaml"] == "" {
				continue
			}
			path := filepath.Join(t.TempDir(), "fleets.yaml")
			if err := os.WriteFile(path, []byte(of.Data["fleets.yaml"]), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := xds.ReadFleets(path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			found = append(found, name)
		}
	}
	if slices.Sort(found); !slices.Equal(found, []string{"all", "certmanager", "fleet"}) {
		t.Errorf("got fleets in the values files %v", found)
	}
}

// TestTheValuesKnowEachFieldOfAListener: the schema of the values has the fields that the
// definition of the kind Envoy has, and the address, which only the file has.
func TestTheValuesKnowEachFieldOfAListener(t *testing.T) {
	type schema struct {
		Properties map[string]*schema `json:"properties"`
		Items      *schema            `json:"items"`
	}
	var values schema
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(viewsDir, "values.schema.json"))), &values); err != nil {
		t.Fatal(err)
	}
	var kind struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPI schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../deploy/fleet/fleet.ablmnzde.github.io_envoys.yaml")), &kind); err != nil {
		t.Fatal(err)
	}
	want := kind.Spec.Versions[0].Schema.OpenAPI.Properties["spec"].Properties["listeners"].Items
	want.Properties["address"] = &schema{}
	got := values.Properties["xds"].Properties["fleets"].Items.Properties["listeners"].Items
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listeners of the values (-want +got):\n%s", diff)
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
