package kubernetes_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

func TestTheExpiryIsThatOfTheCredentialInUse(t *testing.T) {
	a := newAPI(t, serve(whole()))
	dir := t.TempDir()
	encode := base64.RawURLEncoding.EncodeToString
	token := func(ends time.Time) string {
		claims := fmt.Sprintf(`{"iat":1700000000,"exp":%d}`, ends.Unix())
		return encode([]byte(`{"alg":"RS256"}`)) + "." + encode([]byte(claims)) + ".c2lnbmF0dXJl"
	}
	first, second := time.Unix(2_000_000_000, 0), time.Unix(2_100_000_000, 0)
	file := write(t, filepath.Join(dir, "token"), token(first))
	kubeconfig := write(t, filepath.Join(dir, "kubeconfig"), fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "%s", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {tokenFile: token}}]}`, a.URL))
	source := newSource(t, kubernetes.Options{Way: remote(kubeconfig)})
	if got := source.Expiry(); got.Known() {
		t.Errorf("got %+v before anything was used, want that nothing is known", got)
	}
	run(t, source)
	read(t, source)
	until := func(what string, ok func(kube.Expiry) bool) {
		t.Helper()
		for deadline := time.Now().Add(waitTimeout); !ok(source.Expiry()); <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: got %+v", what, source.Expiry())
			}
		}
	}
	if got := source.Expiry(); got.Credential != kube.Token || !got.Ends.Equal(first) || got.Lifetime() != 300_000_000*time.Second {
		t.Errorf("got %+v, want that of the token", got)
	}
	write(t, file, token(second))
	until("the new token", func(e kube.Expiry) bool { return e.Ends.Equal(second) })
	write(t, file, "opaque")
	until("one that does not say it", func(e kube.Expiry) bool { return !e.Known() })
}
