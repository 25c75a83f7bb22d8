package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
)

// The operator's clients are those of a library.
func TestContract35And37TheOperatorOfFleetsFollowsNoRedirectAndShowsNoCredential(t *testing.T) {
	const token = "c4n4ry-s3cr3t"
	var asked []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Path) }))
	defer other.Close()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}, "redirects, which is not followed"},
		"repeats the token": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no right for "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), http.StatusInternalServerError)
		}, "no right for ********"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(test.answer) // without TLS client-go sends no token
			defer server.Close()
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			text := fmt.Sprintf("{current-context: a, clusters: [{name: a, cluster: {server: %q, insecure-skip-tls-verify: true}}], contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {token: %s}}]}", server.URL, token)
			if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			digest := "@sha256:" + strings.Repeat("0", 64)
			code, stdout, stderr := carryOut(t, []string{
				"KUBECONFIG=" + kubeconfig, "METRICS_ADDRESS=127.0.0.1:0",
				"FLEET_XDS_SERVER=xds:18000", "FLEET_ENVOY_IMAGE=envoy" + digest, "FLEET_IMAGE=views" + digest,
			}, "fleet")
			if out := stdout + stderr; code != 4 || !strings.Contains(out, test.want) || strings.Contains(out, token) {
				t.Errorf("got %d\n%s\nwant 4 and %q", code, out, test.want)
			}
		})
	}
	if len(asked) > 0 {
		t.Errorf("another server was asked for %q", asked)
	}
}

func TestContract35ALogHidesWhatItIsToldToHide(t *testing.T) {
	const token = "c4n4ry-s3cr3t"
	var out bytes.Buffer
	hide := func(text string) string { return strings.ReplaceAll(text, token, "***") }
	log := cli.Logger(cli.Program{Stderr: &out}, settings.Log{}, hide)
	log.WithGroup("a").Error("no right for "+token, "err", errors.New("is "+token), "text", token, "number", 7)
	if got := out.String(); strings.Contains(got, token) || strings.Count(got, "***") != 3 || !strings.Contains(got, `"number":7`) {
		t.Errorf("got %s, want the token hidden in three places", got)
	}
}
