package ionos_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// canary is a token that no chance text repeats a part of.
const canary = "c4n4ry-Tq9Zx7Lw2Vb8Nm3Kj6Hg5Fd1Sa0"

// Contract 35: nothing that the API does brings the token, the password, or a
// part of one into an error.
func TestContract35NoErrorHoldsASecret(t *testing.T) {
	for name, change := range map[string]func(*ionos.Options){
		"token": func(o *ionos.Options) { o.Credentials = bearer(text(canary)) },
		"password": func(o *ionos.Options) {
			o.Credentials = basic("me", canary)
		},
	} {
		t.Run(name, func(t *testing.T) {
			encoded := base64.StdEncoding.EncodeToString([]byte("me:" + canary))
			for _, kind := range ionostest.Kinds() {
				if kind == ionostest.Slow || kind == ionostest.Huge {
					continue // they repeat nothing
				}
				c := newCloud(t)
				c.Populate(2)
				c.Break(ionostest.Fault{Kind: kind, RetryAfter: "1"})
				source := c.source(t, nil, change)
				nodes, err := source.Read(t.Context())
				text := fmt.Sprintf("%v %+v %#v %v", err, err, err, nodes)
				for _, secret := range []string{canary[:8], encoded[:12], "Authorization"} {
					if strings.Contains(text, secret) {
						t.Errorf("%s: got %q, want nothing of the secret", kind, text)
					}
				}
				if text := fmt.Sprintf("%v %+v %#v", source, source, source); strings.Contains(text, canary[:8]) {
					t.Errorf("%s: the printed source holds the secret", kind)
				}
			}
		})
	}
}

// A service that says what is wrong with a token may repeat a part of it.
func TestContract35NoErrorRepeatsAPartOfARefusedToken(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"httpStatus": 401, "messages": [{"errorCode": "315", "message": "the token %s... is not known"}]}`, canary[:12])
	}))
	defer server.Close()
	source, err := ionos.New(ionos.Options{
		Credentials: bearer(text(canary)), APIURL: server.URL, DatacenterID: datacenter, LANID: lan, ClusterID: cluster,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := readError(t, source); strings.Contains(err.Error(), canary[:6]) || !strings.Contains(err.Error(), "renew IONOS_TOKEN") {
		t.Errorf("got %v, want the remedy and nothing of the token", err)
	}
}

func TestContract04ARotatedTokenWorksWithoutARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newCloud(t)
	c.Populate(2)
	c.Accept("Bearer first")
	write("first\n")
	source := c.source(t, nil, func(o *ionos.Options) {
		o.Credentials = bearer(func() (string, error) { data, err := os.ReadFile(path); return string(data), err })
	})
	read(t, source)
	c.Accept("Bearer second")
	if err := readError(t, source); !strings.Contains(err.Error(), "401 Unauthorized; renew IONOS_TOKEN") {
		t.Errorf("got error %v, want 401 and the variable", err)
	}
	write("  Bearer second \n")
	read(t, source)
	write(" \n")
	if err := readError(t, source); !strings.Contains(err.Error(), "IONOS_TOKEN is empty") {
		t.Errorf("got error %v, want that it is empty", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := readError(t, source); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want os.ErrNotExist", err)
	}
	write("second")
	read(t, source)
}

func TestATokenMayHaveItsSchemeBeforeIt(t *testing.T) {
	for _, token := range []string{"abc", " abc\n", "Bearer abc", "bearer  abc ", "BEARER\tabc"} {
		c := newCloud(t)
		c.Accept("Bearer abc")
		read(t, c.source(t, nil, func(o *ionos.Options) { o.Credentials = bearer(func() (string, error) { return token, nil }) }))
	}
}

func TestWithoutATokenTheUserNameAndPasswordAreUsed(t *testing.T) {
	c := newCloud(t)
	c.Accept("Basic " + base64.StdEncoding.EncodeToString([]byte("me:pass")))
	source := c.source(t, nil, func(o *ionos.Options) {
		o.Credentials = basic("me", "pass\n")
	})
	read(t, source)
	c.Accept("Basic other")
	if err := readError(t, source); !strings.Contains(err.Error(), "renew IONOS_USERNAME and IONOS_PASSWORD") {
		t.Errorf("got error %v, want the variables", err)
	}
}

func TestTheAddressOfTheAPIMayBeWrittenInAnyWay(t *testing.T) {
	c := newCloud(t)
	for _, address := range []string{c.url, c.url + "/", c.url + "/cloudapi/v6", c.url + "/cloudapi/v6//", " " + c.url + " "} {
		read(t, c.source(t, nil, func(o *ionos.Options) { o.APIURL = address }))
	}
	// Without a scheme it is https, which the fake does not speak.
	err := readError(t, c.source(t, nil, func(o *ionos.Options) { o.APIURL = strings.TrimPrefix(c.url, "http://") }))
	if !strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		t.Errorf("got error %v, want that https was tried", err)
	}
}

// Facts: the SDK closes the connection after each request.
func TestOneConnectionServesEveryRequest(t *testing.T) {
	var opened atomic.Int64
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: cluster, LAN: lan})
	api.Populate(3)
	server := httptest.NewUnstartedServer(api)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	source := (&cloud{API: api, url: server.URL}).source(t, nil)
	for range 10 {
		read(t, source)
	}
	api.Break(ionostest.Fault{Kind: ionostest.Failed})
	readError(t, source)
	api.Heal()
	read(t, source)
	if got := opened.Load(); got != 1 {
		t.Errorf("got %d connections for %d requests, want 1", got, api.Counts().Requests)
	}
}

// Facts: what the SDK does with its own variables.
func TestTheVariablesOfTheSDKHaveNoEffect(t *testing.T) {
	t.Setenv("IONOS_LOG_LEVEL", "trace")
	t.Setenv("IONOS_PINNED_CERT", "00:11:22")
	t.Setenv("IONOS_CONTRACT_NUMBER", "31337")
	before := http.DefaultClient.Transport
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: cluster, LAN: lan})
	var contract atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		contract.Store(r.Header.Get("X-Contract-Number"))
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	api.Accept("Bearer " + canary)
	captured := captureStderr(t, func() {
		read(t, (&cloud{API: api, url: server.URL}).source(t, nil, func(o *ionos.Options) {
			o.Credentials = bearer(text(canary))
		}))
	})
	if captured != "" {
		t.Errorf("got %q on standard error, want nothing", captured)
	}
	if http.DefaultClient.Transport != before {
		t.Error("http.DefaultClient was changed")
	}
	if got := contract.Load(); got != "" {
		t.Errorf("got contract number %q, want none", got)
	}
}

// captureStderr returns what do writes to standard error.
func captureStderr(t *testing.T, do func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	old := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = old }()
	do()
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestContract03RetryAfterIsHonouredInBothForms(t *testing.T) {
	tests := []struct {
		header   string
		min, max time.Duration
	}{
		{"60", 60 * time.Second, 60 * time.Second},
		{"90s", 88 * time.Second, 91 * time.Second}, // as a date
		{"-5", 0, 0}, {"-5s", 0, 0}, {"0", 0, 0}, {"soon", 0, 0},
		{"999999999999", time.Hour, time.Hour},
	}
	for _, test := range tests {
		for _, kind := range []ionostest.Kind{ionostest.RateLimited, ionostest.Unavailable} {
			c := newCloud(t)
			c.Populate(1)
			c.Break(ionostest.Fault{Kind: kind, RetryAfter: test.header})
			source := c.source(t, nil)
			err := readError(t, source)
			if got := transport.RetryAfterOf(err); got < test.min || got > test.max {
				t.Errorf("%s %q: got %v, want %v to %v: %v", kind, test.header, got, test.min, test.max, err)
			}
			// Until then not even a change of the nodes asks again.
			before := c.Counts().Requests
			c.Heal()
			nodes, err := source.Read(t.Context())
			if asked := c.Counts().Requests > before; asked != (test.max == 0) || asked != (err == nil) {
				t.Errorf("%s %q: got a request %t, %d nodes, error %v", kind, test.header, asked, len(nodes), err)
			}
		}
	}
}

func TestContract03ARefusedRequestIsNotRepeatedByTheSDK(t *testing.T) {
	for _, kind := range []ionostest.Kind{ionostest.RateLimited, ionostest.Failed, ionostest.BadGateway, ionostest.Unavailable} {
		c := newCloud(t)
		c.Break(ionostest.Fault{Kind: kind})
		readError(t, c.source(t, nil))
		if got := c.Counts().Requests; got != 1 {
			t.Errorf("%s: got %d requests, want 1", kind, got)
		}
	}
}

func TestTheRateLimitAndTheTokensExpiryAreKept(t *testing.T) {
	c := newCloud(t)
	c.SetRateLimit(600, 60, 42)
	expires := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	token := jwt(fmt.Sprintf(`{"iss": "ionoscloud", "exp": %d}`, expires.Unix()))
	source := c.source(t, nil, func(o *ionos.Options) { o.Credentials = bearer(func() (string, error) { return token, nil }) })
	if limit, ok := source.RateLimit(); ok {
		t.Errorf("got rate limit %+v before any answer", limit)
	}
	if at, ok := source.TokenExpiry(); ok {
		t.Errorf("got expiry %v before any use", at)
	}
	read(t, source)
	if got, ok := source.RateLimit(); !ok || got.Limit != 600 || got.Burst != 60 || got.Remaining != 42 || got.At.IsZero() {
		t.Errorf("got %+v, %t, want 600, 60, 42", got, ok)
	}
	if got, ok := source.TokenExpiry(); !ok || !got.Equal(expires) {
		t.Errorf("got %v, %t, want %v", got, ok, expires)
	}
}

func TestAnExpiredTokenIsCalledThat(t *testing.T) {
	c := newCloud(t)
	c.Accept("Bearer other")
	token := jwt(`{"exp": 1700000000}`)
	err := readError(t, c.source(t, nil, func(o *ionos.Options) { o.Credentials = bearer(func() (string, error) { return token, nil }) }))
	if want := "the token expired at 2023-11-14T22:13:20Z: renew IONOS_TOKEN"; !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}

// jwt is a token with these claims and no signature worth the name.
func jwt(claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg": "RS256"}`)) + "." + encode([]byte(claims)) + ".c2lnbmF0dXJl"
}

func TestNewSaysWhatItCannotDoWithout(t *testing.T) {
	for want, options := range map[string]ionos.Options{
		"IONOS_TOKEN": {ClusterID: cluster, Credentials: bearer(nil)}, "IONOS_CLUSTER_ID": {Credentials: bearer(text(""))},
		"IONOS_PASSWORD": {ClusterID: cluster, Credentials: func() ionos.Credentials { return ionos.Credentials{Username: "me"} }},
	} {
		if source, err := ionos.New(options); source != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want an error that names %s", source, err, want)
		}
	}
}

func TestContract35AnAddressThatIsNoURLIsNotShown(t *testing.T) {
	c := newCloud(t)
	err := readError(t, c.source(t, nil, func(o *ionos.Options) { o.APIURL = "http://me:" + canary + "@a b" }))
	if strings.Contains(err.Error(), canary[:6]) {
		t.Errorf("got %v, want nothing of the address", err)
	}
}
