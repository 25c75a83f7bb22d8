package kube_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// jwt is a token with these claims and no signature worth the name.
func jwt(claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256"}`)) + "." + encode([]byte(claims)) + ".c2lnbmF0dXJl"
}

// certificate is one of a client, with its key.
func certificate(t *testing.T, begins, ends time.Time) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: begins, NotAfter: ends}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// The date that everything here is measured from.
var day0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func day(n int) time.Time { return day0.AddDate(0, 0, n) }

func TestExpiryIsThatOfWhatEndsSooner(t *testing.T) {
	own, key := certificate(t, day(0), day(100))
	authority, _ := certificate(t, day(0), day(10))
	token := func(from, to int) string {
		return jwt(fmt.Sprintf(`{"iat":%d,"exp":%d}`, day(from).Unix(), day(to).Unix()))
	}
	plugin := &clientcmdapi.ExecConfig{Command: "plugin"}
	for name, c := range map[string]struct {
		config rest.Config
		want   kube.Expiry
	}{
		"a certificate":          {rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: own}}, kube.Expiry{Credential: kube.ClientCertificate, Begins: day(0), Ends: day(100)}},
		"behind its key":         {rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: append(key, own...)}}, kube.Expiry{Credential: kube.ClientCertificate, Begins: day(0), Ends: day(100)}},
		"before its authority":   {rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: append(own[:len(own):len(own)], authority...)}}, kube.Expiry{Credential: kube.ClientCertificate, Begins: day(0), Ends: day(100)}},
		"a token":                {rest.Config{BearerToken: token(1, 2)}, kube.Expiry{Credential: kube.Token, Begins: day(1), Ends: day(2)}},
		"a token that is sooner": {rest.Config{BearerToken: token(1, 99), TLSClientConfig: rest.TLSClientConfig{CertData: own}}, kube.Expiry{Credential: kube.Token, Begins: day(1), Ends: day(99)}},
		"a token that is later":  {rest.Config{BearerToken: token(1, 101), TLSClientConfig: rest.TLSClientConfig{CertData: own}}, kube.Expiry{Credential: kube.ClientCertificate, Begins: day(0), Ends: day(100)}},
		"an opaque token beside": {rest.Config{BearerToken: "opaque", TLSClientConfig: rest.TLSClientConfig{CertData: own}}, kube.Expiry{Credential: kube.ClientCertificate, Begins: day(0), Ends: day(100)}},
		"from nbf":               {rest.Config{BearerToken: jwt(fmt.Sprintf(`{"nbf":%d,"exp":%d}`, day(3).Unix(), day(4).Unix()))}, kube.Expiry{Credential: kube.Token, Begins: day(3), Ends: day(4)}},
		"from nowhere":           {rest.Config{BearerToken: jwt(fmt.Sprintf(`{"iat":"x","exp":%d}`, day(4).Unix()))}, kube.Expiry{Credential: kube.Token, Ends: day(4)}},
		"an opaque token":        {rest.Config{BearerToken: "opaque"}, kube.Expiry{}},
		"a token without exp":    {rest.Config{BearerToken: jwt(`{"iat":1700000000}`)}, kube.Expiry{}},
		"an odd exp":             {rest.Config{BearerToken: jwt(`{"exp":1e300}`)}, kube.Expiry{}},
		"another odd exp":        {rest.Config{BearerToken: jwt(`{"exp":"soon"}`)}, kube.Expiry{}},
		"claims that are none":   {rest.Config{BearerToken: jwt(`[]`)}, kube.Expiry{}},
		"three words":            {rest.Config{BearerToken: "a.%.c"}, kube.Expiry{}},
		"no PEM":                 {rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: []byte("x")}}, kube.Expiry{}},
		"no certificate":         {rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: []byte("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n")}}, kube.Expiry{}},
		"a password":             {rest.Config{Username: "u", Password: "p"}, kube.Expiry{}},
		"an exec plugin":         {rest.Config{ExecProvider: plugin}, kube.Expiry{Credential: kube.Plugin}},
		// client-go takes the token, not the plugin's.
		"an exec plugin beside a token": {rest.Config{ExecProvider: plugin, BearerToken: token(1, 2)}, kube.Expiry{Credential: kube.Token, Begins: day(1), Ends: day(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := kube.ExpiryOf(&c.config)
			if got.Credential != c.want.Credential || !got.Begins.Equal(c.want.Begins) || !got.Ends.Equal(c.want.Ends) || got.Known() != c.want.Known() {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A short life is by design, and what renews it begins well before its last tenth:
// the kubelet when a fifth is left, cert-manager when a third is.
func TestACredentialEndsSoonInItsLastFortnightOrItsLastTenth(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		lifetime, notice time.Duration
	}{
		{hour, 6 * time.Minute},
		{30 * 24 * hour, 3 * 24 * hour},
		{140 * 24 * hour, 14 * 24 * hour},
		{365 * 24 * hour, 14 * 24 * hour},
		{0, 14 * 24 * hour}, // not known
	} {
		e := kube.Expiry{Ends: day0}
		if c.lifetime > 0 {
			e.Begins = day0.Add(-c.lifetime)
		}
		if e.Lifetime() != c.lifetime {
			t.Errorf("got lifetime %v, want %v", e.Lifetime(), c.lifetime)
		}
		if e.Soon(day0.Add(-c.notice)) || !e.Soon(day0.Add(time.Second-c.notice)) || !e.Soon(day0) {
			t.Errorf("lifetime %v: want that it ends soon from %v before its end", c.lifetime, c.notice)
		}
	}
	if (kube.Expiry{}).Soon(day0) {
		t.Error("what is not known ends soon")
	}
	if backwards := (kube.Expiry{Begins: day(1), Ends: day0}); backwards.Lifetime() != 0 || !backwards.Soon(day(-13)) {
		t.Errorf("got lifetime %v, want that one that ends before it begins counts as not known", backwards.Lifetime())
	}
}

// Files that a kubeconfig names are inline in a snapshot.
func TestASnapshotSaysWhenTheFilesOfItsCredentialEnd(t *testing.T) {
	cert, key := certificate(t, day(0), day(7))
	user := "client-certificate: " + write(t, "tls.crt", string(cert)) + ", client-key: " + write(t, "tls.key", string(key))
	for want, user := range map[time.Time]string{
		day(7): user,
		day(5): "tokenFile: " + write(t, "token", jwt(fmt.Sprintf(`{"exp":%d}`, day(5).Unix()))+"\n"),
	} {
		config, _, err := access(kubeconfig(t, "server: 'https://127.0.0.1:1'", user)).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if got := kube.ExpiryOf(config); !got.Ends.Equal(want) {
			t.Errorf("got %+v, want %v", got, want)
		}
	}
}

func FuzzExpiry(f *testing.F) {
	f.Add(jwt(`{"exp": 1700000000}`), []byte("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"))
	f.Add(jwt(`{"exp": 1e300, "iat": -1}`), []byte("-----BEGIN"))
	f.Add("a.b.c", []byte(nil))
	f.Fuzz(func(t *testing.T, token string, certificate []byte) {
		e := kube.ExpiryOf(&rest.Config{BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CertData: certificate}})
		if e.Known() != (e.Credential != "") || e.Lifetime() < 0 || !e.Known() && e.Soon(day0) {
			t.Errorf("got %+v", e)
		}
	})
}
