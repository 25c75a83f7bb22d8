package settings_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

func TestLoadToleratesDefaultsThatAreSpelledOut(t *testing.T) {
	want := load(t, minimal())
	e := minimal()
	for _, s := range want.Describe() {
		if s.Origin == settings.FromDefault && s.Value != "" {
			e[s.Variable] = s.Value
		}
	}
	delete(e, "HEALTH_CHECK_MODE") // else the others would have an effect
	if diff := cmp.Diff(want, load(t, e), opts); diff != "" {
		t.Errorf("spelled out differs from unset (-unset +spelled out):\n%s", diff)
	}
}

func TestSwitchingTheHealthCheckOffIsOneChange(t *testing.T) {
	load(t, with(env{
		"HEALTH_CHECK_MODE": "off", "HEALTH_CHECK_PATH": "/healthz", "HEALTH_CHECK_HOST": "web", "HEALTH_CHECK_EXPECTED_STATUS": "204",
		"HEALTH_CHECK_TLS_SERVER_NAME": "web", "HEALTH_CHECK_TLS_CA_FILE": "/is/mounted/only/with/https",
		"TARGET_PORT": "-", "TARGET_PORTS": "a=1,b=2,c=3/UDP",
	}))
}

func TestBothListenersMayTakeAnyFreePort(t *testing.T) {
	load(t, with(env{"ADMIN_ADDRESS": "127.0.0.1:0", "METRICS_ADDRESS": "127.0.0.1:0"}))
}

func TestAPathMayWaitForItsMode(t *testing.T) {
	load(t, with(env{"HEALTH_CHECK_MODE": "tcp", "HEALTH_CHECK_PATH": "/healthz"}))
}

// certificate returns a self-signed certificate in PEM form.
func certificate(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestRootCAsHoldTheCertificatesOfTheFileAsItIsNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.crt")
	write := func(content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(certificate(t))
	health := load(t, with(env{"HEALTH_CHECK_MODE": "https", "HEALTH_CHECK_TLS_CA_FILE": path})).Health
	first, err := health.RootCAs()
	if err != nil || first == nil {
		t.Fatalf("RootCAs() = %v, %v", first, err)
	}
	write(certificate(t))
	second, err := health.RootCAs()
	if err != nil || second.Equal(first) {
		t.Errorf("RootCAs() after a change: %v, the same as before: %v", err, second.Equal(first))
	}
	write(nil)
	if _, err := health.RootCAs(); err == nil {
		t.Error("RootCAs() of an empty file: no error")
	}
}

func TestRootCAsOfTheSystemAreNil(t *testing.T) {
	if pool, err := load(t, minimal()).Health.RootCAs(); pool != nil || err != nil {
		t.Errorf("RootCAs() = %v, %v; want nil", pool, err)
	}
}

func TestLogLevelsAreThoseOfSlog(t *testing.T) {
	for level, want := range map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	} {
		if got := load(t, with(env{"LOG_LEVEL": level})).Log.Level.Level(); got != want {
			t.Errorf("%s is %v, want %v", level, got, want)
		}
	}
}
