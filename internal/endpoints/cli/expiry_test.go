package cli_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestATokenThatIsAboutToExpireIsWarnedOfOnceADay(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var logged buffer
		var ends atomic.Int64
		expire := func(in time.Duration) time.Time {
			at := time.Now().Add(in)
			ends.Store(at.Unix())
			return at
		}
		go cli.WarnOfToken(t.Context(), slog.New(slog.NewJSONHandler(&logged, nil)), func() (time.Time, bool) { return time.Unix(ends.Load(), 0), ends.Load() != 0 })
		warnings := func(after time.Duration) int {
			time.Sleep(after)
			synctest.Wait()
			return strings.Count(logged.String(), `"level":"WARN"`)
		}
		const day = 24 * time.Hour
		if got := warnings(time.Hour); got != 0 {
			t.Errorf("got %d warnings of a token that does not say when it expires, want none", got)
		}
		expires := expire(15 * day)
		if got := warnings(day - time.Minute); got != 0 {
			t.Errorf("got %d warnings more than 14 days before, want none", got)
		}
		if got := warnings(2 * time.Minute); got != 1 || !strings.Contains(logged.String(), expires.UTC().Format(time.RFC3339)) {
			t.Errorf("got %d warnings, want one with the date; log:\n%s", got, logged.String())
		}
		if got := warnings(3 * day); got != 4 {
			t.Errorf("got %d warnings three days later, want 4", got)
		}
		expire(90 * day)
		if got := warnings(2 * day); got != 4 {
			t.Errorf("got %d warnings after the token was rotated, want 4 still", got)
		}
		expire(time.Hour)
		if got := warnings(time.Minute); got != 5 {
			t.Errorf("got %d warnings after one that ends soon took its place, want 5", got)
		}
		expire(2 * time.Hour)
		if got := warnings(time.Hour); got != 5 {
			t.Errorf("got %d warnings within a day of the last, want 5 still", got)
		}
	})
}

// metricsAddress is what the log says of the listener.
var metricsAddress = regexp.MustCompile(`"metrics_address":"([^"]+)"`)

// From start to end: the log warns of the token that was used, the metrics show its
// date, and neither repeats the token.
func TestContract35ATokenThatExpiresShowsByItsDateOnly(t *testing.T) {
	t.Parallel()
	expires := time.Now().Add(72 * time.Hour).Truncate(time.Second)
	claims := fmt.Sprintf(`{"exp":%d}`, expires.Unix())
	token := "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + "." + tokenCanary
	api, environ := cloud(t, 3)
	api.Accept("Bearer " + token)
	environ = slices.DeleteFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, "IONOS_TOKEN=") })
	environ = append(environ, "IONOS_TOKEN="+token, "METRICS_ADDRESS=127.0.0.1:0", "ADMIN_ADDRESS=127.0.0.1:0", "LOG_FORMAT=json")
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
	until("the warning", func() bool {
		return strings.Contains(errs.String(), `"expires":"`+expires.UTC().Format(time.RFC3339)+`"`)
	})
	until("the address of the metrics", func() bool { return metricsAddress.MatchString(errs.String()) })
	url, shown := "http://"+metricsAddress.FindStringSubmatch(errs.String())[1]+"/metrics", ""
	until("the endpoints", func() bool {
		shown = scrape(t, url)
		return strings.Contains(shown, `writes_total{operation="create",result="success"} 1`) && strings.Contains(shown, `service_pending_slices{target_namespace="default",target_service="web"} 0`)
	})
	for _, line := range []string{
		`ionos_endpointslice_credential_expiry_timestamp_seconds{credential="token",pool="remote"} ` + strconv.FormatFloat(float64(expires.Unix()), 'g', -1, 64) + "\n",
		`ionos_endpointslice_endpoints{pool="remote",state="ready"} 3`, `ionos_endpointslice_source_reads_total{pool="remote",result="error"} 0`,
		`ionos_endpointslice_writes_total{operation="create",result="success"} 1`, `rest_client_requests_total{client="source",code="200",method="GET"} `,
		`ionos_endpointslice_source_rate_limit_remaining{pool="remote"} `, `ionos_endpointslice_build_info{goversion="go1.`,
	} {
		if !strings.Contains(shown, line) {
			t.Errorf("the metrics lack %q", line)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
	if got := strings.Count(errs.String(), "the IONOS token expires soon"); got != 1 {
		t.Errorf("got %d warnings, want 1", got)
	}
	if strings.Contains(shown+errs.String(), tokenCanary[:8]) || strings.Contains(shown, "10.0.0.") {
		t.Error("the token or an address shows up in the log or the metrics")
	}
}

// scrape reads the metrics.
func scrape(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got status %d and %v, want the metrics", response.StatusCode, err)
	}
	return string(text)
}
