package chart_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	manydocs "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// poolsValues and folderValues are the combinations for many Services.
var (
	poolsValues  = []string{"--values", filepath.Join(chartDir, "ci", "pools-values.yaml")}
	folderValues = []string{"--values", filepath.Join(chartDir, "ci", "folder-values.yaml")}
	kindsValues  = []string{"--values", filepath.Join(chartDir, "ci", "kinds-values.yaml")}
)

func TestContract74MistakesInPoolsAreReportedByName(t *testing.T) {
	but := func(more ...string) []string { return slices.Concat(poolsValues, more) }
	set := func(text string) []string { return but("--set-json", text) }
	reported(t, chartDir, map[string]mistake{
		"no bounds":             {set(`bounds.namespaces=[]`), []string{"bounds.namespaces: required", "the pools and bindings name blog, pay, shop"}},
		"a namespace outside":   {set(`bounds.namespaces=["blog","pay"]`), []string{"bounds.namespaces: does not have shop", "add it there"}},
		"all and one":           {set(`bounds.namespaces=["*","pay"]`), []string{"bounds.namespaces:", "write it alone"}},
		"a subnet outside":      {set(`bounds.subnets=["10.7.1.0/25","10.8.1.0/24","fd00:10::/48"]`), []string{"pools.berlin.subnets: 10.7.1.0/24 is not in bounds.subnets"}},
		"one of IPv6 outside":   {set(`bounds.subnets=["10.0.0.0/8","fd00:10:0:1::/64"]`), []string{"pools.berlin.subnets: fd00:10::/64 is not in bounds.subnets"}},
		"a port outside":        {set(`bounds.ports=[30080,30081,30443,"31000-31998"]`), []string{"pools.berlin.allow: the port 31000-31999 is not in bounds.ports", "pools.london.allow"}},
		"no credentials":        {set(`pools.london.credentials="oslo"`), []string{"pools.london.credentials: there is no credentials.oslo", "credentials.oslo.secretName"}},
		"credentials not named": {set(`pools.london.credentials=""`), []string{"london", "credentials"}},
		"no name of them":       {set(`pools.oslo={"source":{"kubernetes":{}},"subnets":["10.8.1.0/24"]}`), []string{"pools.oslo.credentials: the source kubernetes needs it"}},
		"a pool that is none":   {set(`bindings.pay.checkout.pools=[{"name":"berlin"},{"name":"oslo"}]`), []string{"bindings.pay.checkout.pools: there is no pool oslo", "berlin, london"}},
		"an unknown field":      {set(`pools.berlin.guard.maxRemoval=3`), []string{"berlin", "guard", "maxRemoval"}},
		"two sources":           {set(`pools.berlin.source.kubernetes={}`), []string{"berlin", "source"}},
		"no source":             {set(`pools.oslo={"subnets":["10.9.0.0/24"]}`), []string{"oslo", "source"}},
		"no subnets":            {set(`pools.london.subnets=[]`), []string{"london", "subnets"}},
		"a subnet with bits":    {set(`pools.london.subnets=["10.8.1.1/24"]`), []string{"pools.london.subnets: 10.8.1.1/24 has bits set after its prefix"}},
		"bounds with bits":      {set(`bounds.subnets=["10.7.1.0/8","10.8.1.0/24","fd00::/16"]`), []string{"bounds.subnets: 10.7.1.0/8 has bits set after its prefix"}},
		"every namespace":       {set(`pools.london.allow=[{"namespaces":["*"],"ports":["31000"]}]`), []string{"pools.london.allow: * is not the name of a namespace", "namespaceSelector"}},
		"a range turned around": {set(`pools.london.allow=[{"namespaces":["pay"],"ports":["31999-31000"]}]`), []string{"pools.london.allow: 31999-31000 is no port or range of ports"}},
		"a long timeout":        {set(`pools.london.healthCheck={"timeout":"3s","interval":"2s"}`), []string{"pools.london.healthCheck.timeout: is longer than the interval (2s)"}},
		"a timeout alone":       {set(`pools.london.healthCheck={"timeout":"3s"}`), []string{"pools.london.healthCheck.timeout: is longer than the interval (2s)"}},
		"a long interval":       {set(`pools.london.healthCheck={"interval":"2h"}`), []string{"pools.london.healthCheck.interval: 2h is outside 100ms to 1h"}},
		"a port as a number":    {set(`pools.london.allow=[{"namespaces":["pay"],"ports":[31000]}]`), []string{"london", "ports"}},
		"a mode that is none":   {set(`pools.berlin.healthCheck.mode="http"`), []string{"berlin", "mode"}},
		"a number too large":    {set(`bindings.pay.checkout.ports=[{"port":65536}]`), []string{"checkout", "port"}},
		"a name with a dot":     {set(`pools={"a.b":{"source":{"kubernetes":{}},"credentials":"berlin","subnets":["10.7.1.0/24"]}}`), []string{"a.b"}},
		"a token in the values": {set(`credentials.berlin.token="secret"`), []string{"credentials", "berlin", "token"}},
		"a key for no file":     {set(`credentials.berlin.keys={"ca":"x"}`), []string{"credentials", "ca"}},
		"another store":         {but("--set", "controller.storeKind=kubectl"), []string{"controller.storeKind: pools need client-go", "controller.dryRun=true"}},
		"two places":            {but("--set", "controller.documentsDir=/a"), []string{"pools: controller.documentsDir names a folder with other documents", "bindings:"}},
		"two folders":           {but("--set", "controller.credentialsDir=/a"), []string{"controller.credentialsDir: the chart mounts credentials itself"}},
		"a variable beside":     {but("--set", "controller.drainPeriod=1m"), []string{"controller.drainPeriod: with pools this is guard.drainPeriod of a pool; write it there and remove it here"}},
		"a folder unbound":      {append(slices.Clone(folderValues), "--set-json", `bounds={"subnets":[],"ports":[]}`), []string{"bounds.subnets: required with controller.documentsDir", "bounds.ports: required"}},
		"kinds unbound":         {append(slices.Clone(kindsValues), "--set-json", `bounds={"subnets":[],"ports":[],"namespaces":[]}`), []string{"bounds.subnets: required with controller.documentsApi", "bounds.ports: required", "bounds.namespaces: required"}},
		"a namespace in two":    {set(`bounds.leaving=["pay"]`), []string{"bounds.leaving: pay is filled still"}},
		"one that is named":     {set(`bounds={"namespaces":["blog","pay"],"leaving":["shop"]}`), []string{"bounds.leaving: has shop, which a pool or a binding names"}},
		"leaving with kinds":    {append(slices.Clone(kindsValues), "--set", "bounds.leaving={gone}"), []string{"bounds.leaving: has no effect with controller.documentsApi", "delete its bindings", "spec.allow of every pool"}},
		"leaving of all":        {set(`bounds={"namespaces":["*"],"leaving":["other"]}`), []string{"bounds.leaving: other needs no entry"}},
		"names of slices":       {but("--set", "rbac.formerSliceNames={a}"), []string{"rbac.formerSliceNames: has no effect"}},
		"bounds of nothing":     {append(slices.Clone(readme), "--set", "bounds.namespaces={shop}"), []string{"bounds.namespaces: has no effect without pools"}},
		"bindings of nothing":   {append(slices.Clone(readme), "--set-json", `bindings.pay.checkout={"pools":[{"name":"berlin"}]}`), []string{"bindings: has no effect without pools"}},
		"a filled Service as an extra": {
			set(`extraObjects=[{"kind":"Service","metadata":{"name":"checkout","namespace":"pay"}}]`), []string{"extraObjects: the Service checkout must not be part of the release"},
		},
		"an annotated one as an extra": {
			set(`extraObjects=[{"kind":"Service","metadata":{"name":"any","annotations":{"endpoints.ablmnzde.github.io/pool":"berlin"}}}]`), []string{"extraObjects: the Service any must not be part"},
		},
	}, helms[1])
}

// TestContract74BoundsAreNoNarrowerThanTheyRead: a subnet is inside of a larger one, and a
// port inside of a range.
func TestContract74BoundsAreNoNarrowerThanTheyRead(t *testing.T) {
	for _, bounds := range []string{
		`bounds={"namespaces":["*"],"subnets":["10.7.1.0/24","10.8.0.0/15","fd00::/16"],"ports":["1-65535"]}`,
		`bounds={"namespaces":["blog","pay","shop"],"subnets":["10.6.0.0/15","10.8.1.0/24","fd00:10::/64"],"ports":["30080-30081",30443,"31000-31999"]}`,
		`bounds={"namespaceSelector":{"matchLabels":{"a":"b"}}}`,
	} {
		render(t, helms[1], append(slices.Clone(poolsValues), "--set-json", bounds)...)
	}
}

// TestEveryVariableOfOneServiceIsRefusedBesidePools: none may be set without effect.
func TestEveryVariableOfOneServiceIsRefusedBesidePools(t *testing.T) {
	args := append([]string{"template", "edge", chartDir}, poolsValues...)
	var keys []string
	for _, v := range variables(t) {
		if v.inDocuments() {
			keys = append(keys, v.key())
			value := sample(v)
			if v.name == "SOURCE_KIND" { // the sample of TARGET_PORT is not its default
				value = "file"
			}
			args = append(args, "--set", "controller."+v.key()+"="+value)
		}
	}
	got := helm(t, helms[1], args...)
	for _, key := range keys {
		if !strings.Contains(got.stderr, "- controller."+key+": with pools this is ") {
			t.Errorf("controller.%s: got no mistake", key)
		}
	}
	if count := strings.Count(got.stderr, "with pools this is"); count != len(keys) || count < 30 {
		t.Errorf("got %d mistakes, want %d, in\n%s", count, len(keys), got.stderr)
	}
}

// TestContract74WhatTheChartRendersAreTheDocuments: the ConfigMap holds each pool and each
// binding of the values, in files that are never missing.
func TestContract74WhatTheChartRendersAreTheDocuments(t *testing.T) {
	config := stage.One[*corev1.ConfigMap](t, rendered(t, poolsValues...))
	got := append(documentsIn("pools.yaml", config.Data["pools.yaml"]), documentsIn("bindings.yaml", config.Data["bindings.yaml"])...)
	want := []string{"EndpointPool berlin", "EndpointPool london", "EndpointBinding pay/checkout", "EndpointBinding shop/web"}
	if diff := cmp.Diff(want, got); diff != "" || len(config.Data) != 2 {
		t.Errorf("%d files (-want +got):\n%s", len(config.Data), diff)
	}
	none := stage.One[*corev1.ConfigMap](t, rendered(t, append(slices.Clone(poolsValues), "--set-json", "bindings=null")...))
	if text, ok := none.Data["bindings.yaml"]; !ok || len(documentsIn("bindings.yaml", text)) > 0 {
		t.Errorf("without a binding: got %q", text)
	}
}

// rendered are the objects that the chart renders.
func rendered(t *testing.T, args ...string) []any {
	t.Helper()
	return documents(t, render(t, helms[1], args...))
}

// documentsIn names the documents of a file, with their mistakes.
func documentsIn(name, text string) []string {
	var found []string
	for _, d := range manydocs.Decode(name, []byte(text)) {
		line := d.Key.String()
		for _, m := range d.Mistakes {
			line += " " + m.Error()
		}
		found = append(found, line)
	}
	return found
}

// TestContract74AChangedPoolRestartsNothing: what the Pods are made of stays.
func TestContract74AChangedPoolRestartsNothing(t *testing.T) {
	changed := append(slices.Clone(poolsValues), "--set", "pools.berlin.pollInterval=20s", "--set-json", `bindings.shop.api={"pools":[{"name":"berlin"}]}`,
		"--set-json", `pools.berlin.subnets=["10.7.2.0/24"]`)
	before, after := stage.One[*appsv1.Deployment](t, rendered(t, poolsValues...)), stage.One[*appsv1.Deployment](t, rendered(t, changed...))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the Deployment (-before +after):\n%s", diff)
	}
	for _, volume := range before.Spec.Template.Spec.Volumes {
		if volume.Secret != nil && (volume.Secret.Optional == nil || !*volume.Secret.Optional) {
			t.Errorf("volume %s: a Secret that is missing keeps the Pod from starting, and with it all other pools", volume.Name)
		}
	}
}
