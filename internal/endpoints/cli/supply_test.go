package cli_test

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

func TestOnlyReadsWithoutARequestOrAProgramAreFree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source v1alpha1.PoolSource
		want   bool
	}{
		{v1alpha1.PoolSource{Static: &v1alpha1.StaticSource{}}, true}, {v1alpha1.PoolSource{File: &v1alpha1.FileSource{}}, true},
		{v1alpha1.PoolSource{Command: &v1alpha1.CommandSource{}}, false}, {v1alpha1.PoolSource{IONOS: &v1alpha1.IONOSSource{}}, false},
		{v1alpha1.PoolSource{Kubernetes: &v1alpha1.KubernetesSource{}}, false},
	} {
		if got := cli.Free(c.source); got != c.want {
			t.Errorf("%+v: got %t, want %t", c.source, got, c.want)
		}
	}
}

// Contract 223: the program of a pool in a file gets what every program gets, and the pool
// and its credentials in the place of the variables.
func TestContract223AProgramOfAPoolGetsItsCredentials(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "environ")
	script := "env > " + out + `; echo '[{"name": "w1", "private_ip": "10.0.0.11", "ready": true, "worker": true}]'`
	environ := mounted(t, `apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: blue}
spec: {source: {command: {path: /bin/sh, args: [-c, `+strconv.Quote(script)+`]}}, credentials: blue, subnets: [10.0.0.0/24]}
`)
	folder := filepath.Join(strings.TrimPrefix(environ[1], "CREDENTIALS_DIR="), "blue")
	writeFile(t, filepath.Join(folder, "token"), "geheim\n")
	writeFile(t, filepath.Join(folder, "username"), "me\n")
	environ = append(environ, "PATH=/usr/bin:/bin", "EXTRA=more", "OTHER=less", "INVENTORY_COMMAND_ENV=EXTRA", "IONOS_API_URL=https://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:2")
	code, stdout, stderr := run(t, environ, "inventory")
	if code != 0 || !strings.Contains(stdout, "10.0.0.11") {
		t.Fatalf("got status %d, %q and %q", code, stdout, stderr)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(text), "\n")
	for _, want := range []string{
		"PATH=/usr/bin:/bin", "EXTRA=more", "HTTPS_PROXY=http://127.0.0.1:2", "IONOS_API_URL=https://127.0.0.1:1", "IONOS_TOKEN=geheim", "IONOS_TOKEN_FILE=" + filepath.Join(folder, "token"),
		"IONOS_USERNAME=me", "SECURED_KUBECONFIG=" + filepath.Join(folder, "kubeconfig"), "SECURED_SUBNET_CIDR=10.0.0.0/24",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	if slices.Contains(got, "OTHER=less") {
		t.Errorf("got a variable that nobody named: %q", got)
	}
}

// Contract 49: the program gets credentials that come after the source was made, and is not
// run without those that are gone.
func TestContract49CredentialsOfAProgramMayComeLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, out := filepath.Join(dir, "blue"), filepath.Join(dir, "environ")
	p := &v1alpha1.EndpointPool{}
	p.Spec.Credentials, p.Spec.Source.Command = "blue", &v1alpha1.CommandSource{Path: "/bin/sh", Args: []string{"-c", "/usr/bin/env > " + out + "; echo '[]'"}}
	p.SetDefaults()
	made, err := cli.Origin(settings.Config{Documents: settings.Documents{Dir: dir, CredentialsDir: dir}}, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		files map[string]string
		want  []string
		fails bool
	}{
		{nil, nil, false},
		{map[string]string{"token": "geheim\n", "kubeconfig": ""}, []string{"IONOS_TOKEN=geheim", "IONOS_TOKEN_FILE=" + filepath.Join(folder, "token"), "SECURED_KUBECONFIG=" + filepath.Join(folder, "kubeconfig")}, false},
		{nil, nil, true},
		{map[string]string{"username": "me", "password": "pass"}, []string{"IONOS_USERNAME=me", "IONOS_PASSWORD=pass", "IONOS_PASSWORD_FILE=" + filepath.Join(folder, "password")}, false},
	} {
		fill(t, folder, step.files)
		_, err := made.Source.Read(t.Context())
		if failed := err != nil; failed != step.fails {
			t.Fatalf("%v: got error %v, want one: %t", step.files, err, step.fails)
		}
		if step.fails {
			continue
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(strings.Fields(string(text)), func(v string) bool {
			return !strings.HasPrefix(v, "IONOS_") && !strings.HasPrefix(v, "SECURED_KUBECONFIG")
		})
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(step.want))) {
			t.Errorf("%v: got %q, want %q", step.files, got, step.want)
		}
	}
}

// Contract 4 and 49: an IONOS pool is read with what its folder has now.
func TestContract49CredentialsOfTheCloudMayBecomeOthers(t *testing.T) {
	t.Parallel()
	api, environ := cloud(t, 1)
	dir := t.TempDir()
	p := &v1alpha1.EndpointPool{}
	p.Spec.Credentials, p.Spec.Source.IONOS = "blue", &v1alpha1.IONOSSource{DatacenterID: datacenter, LANID: 2, ClusterID: clusterID}
	p.SetDefaults()
	c := settings.Config{Documents: settings.Documents{Dir: dir, CredentialsDir: dir}}
	c.IONOS.APIURL = strings.TrimPrefix(environ[1], "IONOS_API_URL=")
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	var made controller.Origin
	for i, step := range []struct {
		files   map[string]string
		accepts string
		says    string
	}{
		{map[string]string{"username": "me", "password": "one"}, basic("me", "one"), ""},
		{map[string]string{"username": "you\n", "password": "two\n"}, basic("you", "two"), ""},
		{map[string]string{"token": "geheim"}, "Bearer geheim", ""},
		{nil, "Bearer geheim", "IONOS_TOKEN cannot be read"},
		{map[string]string{"username": "me", "password": "three"}, basic("me", "three"), ""},
		{map[string]string{"username": "me", "password": "four"}, basic("me", "five"), "renew IONOS_USERNAME and IONOS_PASSWORD"},
		{map[string]string{"kubeconfig": ""}, basic("me", "five"), "IONOS_PASSWORD cannot be read"},
	} {
		fill(t, filepath.Join(dir, "blue"), step.files)
		api.Accept(step.accepts)
		if i == 0 {
			var err error
			if made, err = cli.Origin(c, p); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := made.Source.Read(t.Context()); (err == nil) != (step.says == "") || err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("step %d: got error %v, want %q", i, err, step.says)
		}
	}
}

// fill replaces what a folder has.
func fill(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		writeFile(t, filepath.Join(folder, name), text)
	}
}

// Contract 223: a check of a binding's own works whatever its pool says of TLS, and that
// of the pool reads the authorities in the folder of its credentials.
func TestContract223AChecksTLSIsThatOfItsMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := settings.Config{Documents: settings.Documents{Dir: dir, CredentialsDir: dir}}
	yes, https := true, assign.Check{Mode: v1alpha1.HealthCheckHTTPS, Port: 8443, Path: "/", ExpectedStatus: "200-399"}
	pool := func(name string, insecure *bool) *v1alpha1.EndpointPool {
		p := &v1alpha1.EndpointPool{}
		p.Spec.Credentials = name
		p.Spec.HealthCheck = v1alpha1.PoolHealthCheck{Mode: v1alpha1.HealthCheckHTTPS, TLSServerName: "web.example.com", TLSInsecure: insecure, HoldConnection: &yes}
		p.SetDefaults()
		return p
	}
	if err := os.Mkdir(filepath.Join(dir, "text"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "text", "ca.crt"), "no certificate")
	tcp, err := cli.Checking(c, pool("text", &yes), assign.Check{Mode: v1alpha1.HealthCheckTCP, Port: 8080})
	if err != nil || tcp.Prober == nil || tcp.HoldPort != 8080 {
		t.Errorf("got %+v and %v, want a check by TCP", tcp, err)
	}
	if off, err := cli.Checking(c, pool("text", nil), assign.Check{Mode: v1alpha1.HealthCheckNone}); err != nil || off.Prober != nil || !off.Policy.HealthOff {
		t.Errorf("got %+v and %v, want no check", off, err)
	}
	for name, c := range map[string]struct {
		pool *v1alpha1.EndpointPool
		want string
	}{
		"no certificate": {pool("text", nil), "holds no certificate"}, "insecure beside authorities": {pool("text", &yes), "HEALTH_CHECK_TLS_INSECURE contradicts HEALTH_CHECK_TLS_CA_FILE"},
	} {
		if _, err := cli.Checking(settings.Config{Documents: settings.Documents{Dir: dir, CredentialsDir: dir}}, c.pool, https); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	system, err := cli.Checking(c, pool("none", nil), https)
	if err != nil || system.Prober == nil {
		t.Errorf("got %+v and %v, want the authorities of the system", system, err)
	}
	// Pools share the checks of an address that are one check.
	if other, err := cli.Checking(c, pool("none", nil), assign.Check{Mode: v1alpha1.HealthCheckTCP, Port: 8080}); err != nil || other.Key != tcp.Key {
		t.Errorf("got the keys %q and %q and %v, want one", tcp.Key, other.Key, err)
	}
	if other, err := cli.Checking(c, pool("none", &yes), https); err != nil || other.Key == system.Key {
		t.Errorf("got the key %q and %v for another check", other.Key, err)
	}
}

// TestContract49TheAuthoritiesOfACheckMayComeLater: with the credentials, or after them. Without
// credentials it is not known whether there are any, so no check counts as refused. What was read stays.
func TestContract49TheAuthoritiesOfACheckMayComeLater(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	dir := t.TempDir()
	p := &v1alpha1.EndpointPool{}
	p.Spec.Credentials, p.Spec.Source.Kubernetes = "blue", &v1alpha1.KubernetesSource{}
	p.SetDefaults()
	check := assign.Check{Mode: v1alpha1.HealthCheckHTTPS, Port: at.Port(), Path: "/", ExpectedStatus: "200-399"}
	checking, err := cli.Checking(settings.Config{Documents: settings.Documents{Dir: dir, CredentialsDir: dir}}, p, check)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "blue")
	file := filepath.Join(folder, "ca.crt")
	write := func(path, text string) func() error {
		return func() error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	for _, step := range []struct {
		what   string
		change func() error
		want   inventory.Outcome
		told   bool
	}{
		{"an empty folder", func() error { return os.Mkdir(folder, 0o700) }, inventory.LocalError, true},
		{"no authorities", write(filepath.Join(folder, "kubeconfig"), ""), inventory.Refused, false},
		{"authorities", write(file, ca), inventory.Pass, false},
		{"a mistake", write(file, "no certificate"), inventory.Pass, true},
		{"authorities again", write(file, ca), inventory.Pass, false},
		{"their file is gone", func() error { return os.Remove(file) }, inventory.Pass, true},
		{"authorities once more", write(file, ca), inventory.Pass, false},
		{"the folder is gone", func() error { return os.RemoveAll(folder) }, inventory.Pass, true},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) { // polls a condition
			got, trouble := checking.Prober.Check(t.Context(), at.Addr()), checking.Trouble()
			if got.Outcome == step.want && (trouble != nil) == step.told {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: got %s (%s) and trouble %v, want %s and that it is told: %t", step.what, got.Outcome, got.Message, trouble, step.want, step.told)
			}
		}
	}
}
