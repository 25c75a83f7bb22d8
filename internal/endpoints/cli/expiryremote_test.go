package cli_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// tokenOf is a token that is valid for so long in all, of which so much is left.
func tokenOf(lifetime, left time.Duration) (token string, expires time.Time) {
	expires = time.Now().Add(left).Truncate(time.Second)
	claims := fmt.Appendf(nil, `{"iat":%d,"exp":%d}`, expires.Add(-lifetime).Unix(), expires.Unix())
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString(claims) + "." + tokenCanary, expires
}

// remoteOnly is a daemon whose source is a remote cluster that refuses everything.
func remoteOnly(t *testing.T, token string) (environ []string, kubeconfigPath string) {
	t.Helper()
	setting := "SECURED_" + kubeconfig(t, apiServer(t, http.StatusForbidden, "Forbidden"), token)
	_, path, _ := strings.Cut(setting, "=")
	return append([]string{setting, "SOURCE_POLL_INTERVAL=100ms", "LOG_FORMAT=json"}, replaced("SOURCE_KIND=kubernetes")...), path
}

const day = 24 * time.Hour

func TestATokenOfAnHourIsWarnedOfOnlyWhenItIsNotRenewed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var logged buffer
		var newest atomic.Pointer[kube.Expiry]
		renew := func() {
			newest.Store(&kube.Expiry{Credential: kube.Token, Begins: time.Now(), Ends: time.Now().Add(time.Hour)})
		}
		renew()
		go cli.WarnOfCredential(t.Context(), slog.New(slog.NewJSONHandler(&logged, nil)), "SECURED_KUBECONFIG", func() kube.Expiry { return *newest.Load() })
		for range 100 {
			time.Sleep(48 * time.Minute)
			renew()
		}
		time.Sleep(53 * time.Minute)
		synctest.Wait()
		if got := logged.String(); got != "" {
			t.Errorf("got a warning of a token that was renewed in time:\n%s", got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := logged.String(); strings.Count(got, newest.Load().Ends.UTC().Format(time.RFC3339)) != 1 {
			t.Errorf("got %q five minutes before its end, want one warning with the date", got)
		}
	})
}

// From start to end, for a token of a month and then for a token of an hour that
// replaces it: the metrics show the one in use, and the log warns only of a token
// that should have been renewed.
func TestContract35ACredentialIsAnnouncedByItsDateOnly(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"kubernetes", "ionos", "local"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			token, expires := tokenOf(30*day, 2*day)
			environ, path := remoteOnly(t, token)
			switch way {
			case "ionos":
				_, cloudy := cloud(t, 1)
				environ = slices.Concat(cloudy, environ[:1], []string{"LOG_FORMAT=json"})
			case "local":
				setting := kubeconfig(t, apiServer(t, http.StatusForbidden, "Forbidden"), token)
				environ, path = clustered(setting, "LOG_FORMAT=json"), strings.TrimPrefix(setting, "KUBECONFIG=")
				testAnnounced(t, "local", "KUBECONFIG", environ, path, token, expires)
				return
			}
			testAnnounced(t, "remote", "SECURED_KUBECONFIG", environ, path, token, expires)
		})
	}
}

func testAnnounced(t *testing.T, cluster, setting string, environ []string, path, token string, expires time.Time) {
	t.Helper()
	var out, errs buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		p := cli.Program{Version: "v1.2.3", Environ: environ, Stdout: &out, Stderr: &errs}
		ended <- p.Run(ctx, []string{"run"})
	}()
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !ok(); <-time.After(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: not within half a minute; log:\n%s", what, errs.String())
			}
		}
	}
	until("the address of the metrics", func() bool { return metricsAddress.MatchString(errs.String()) })
	url, shown := "http://"+metricsAddress.FindStringSubmatch(errs.String())[1]+"/metrics", ""
	shows := func(expires time.Time, lifetime time.Duration) func() bool {
		return func() bool {
			shown = scrape(t, url)
			number := func(n float64) string { return " " + strconv.FormatFloat(n, 'g', -1, 64) + "\n" }
			name, labels := "\nionos_endpointslice_local_credential_", ""
			if cluster == "remote" {
				name, labels = "\nionos_endpointslice_credential_", `{credential="kubeconfig",pool="remote"}`
			}
			return strings.Contains(shown, name+"expiry_timestamp_seconds"+labels+number(float64(expires.Unix()))) &&
				strings.Contains(shown, name+"lifetime_seconds"+labels+number(lifetime.Seconds()))
		}
	}
	until("the token of a month", shows(expires, 30*day))
	until("the warning", func() bool {
		return strings.Contains(errs.String(), `"expires":"`+expires.UTC().Format(time.RFC3339)+`"`)
	})
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next, expires := tokenOf(time.Hour, 50*time.Minute)
	if err := os.WriteFile(path, []byte(strings.Replace(string(before), token, next, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	until("the token of an hour", shows(expires, time.Hour))
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
	if got := strings.Count(errs.String(), `"setting":"`+setting+`"`); got != 1 {
		t.Errorf("got %d warnings, want 1; log:\n%s", got, errs.String())
	}
	if strings.Contains(shown+errs.String()+out.String(), tokenCanary[:8]) {
		t.Error("the token shows up in the log or the metrics")
	}
}

func TestCheckSaysWhenTheRemoteCredentialExpires(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lifetime, left time.Duration
		want           preflight.Result
	}{
		{365 * day, 20 * day, "ok"},
		{365 * day, 13 * day, "warn"},
		{time.Hour, 50 * time.Minute, "ok"},
		{time.Hour, -time.Minute, "fail"},
	} {
		token, expires := tokenOf(test.lifetime, test.left)
		environ, _ := remoteOnly(t, token)
		_, report := checked(t, environ)
		var found []preflight.Check
		for _, c := range report.Checks {
			if c.ID == preflight.SourceExpiry {
				found = append(found, c)
			}
		}
		if len(found) != 1 || found[0].Result != test.want || !strings.Contains(found[0].Message, expires.UTC().Format(time.RFC3339)) {
			t.Errorf("%v of %v left: got %+v, want one that is %s, with the date", test.left, test.lifetime, found, test.want)
		}
		if strings.Contains(fmt.Sprint(report), tokenCanary[:8]) {
			t.Errorf("the token shows up in %+v", report)
		}
	}
}

// Also of a certificate in a file, and while the API server is away.
func TestCheckSaysWhenTheLocalCredentialExpires(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	keyPair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(keyPair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	expired, at := tokenOf(day, -time.Minute)
	for _, test := range []struct {
		user string
		want preflight.Result
		says string
	}{
		{"token: " + expired, "fail", "the token expired at " + at.UTC().Format(time.RFC3339)},
		{"client-certificate: " + pemFile(t, "CERTIFICATE", keyPair.Certificate[0]) + ", client-key: " + pemFile(t, "PRIVATE KEY", key),
			"ok", "the client certificate expires at " + server.Certificate().NotAfter.UTC().Format(time.RFC3339)},
		{"token: opaque", "skip", "it does not say when"},
	} {
		for _, url := range []string{server.URL, apiServer(t, http.StatusForbidden, "Forbidden")} {
			setting := kubeconfig(t, url, "replaced")
			_, path, _ := strings.Cut(setting, "=")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), "token: replaced", test.user, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, report := checked(t, clustered(setting))
			found := slices.DeleteFunc(report.Checks, func(c preflight.Check) bool { return c.ID != preflight.APIExpiry })
			if len(found) != 1 || found[0].Result != test.want || !strings.Contains(found[0].Message, test.says) {
				t.Errorf("got %+v, want one that is %s and says %q", found, test.want, test.says)
			}
		}
	}
}

func pemFile(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
