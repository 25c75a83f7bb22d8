package cli_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

//go:generate go test . -run TestTheReferenceOfMetricsIsUpToDate -update

func TestTheReferenceOfMetricsIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "endpoint-views-configuration.md")
	want := reference()
	golden.CheckPart(t, path, "## Metrics", "", want, "go generate ./internal/views/cli")
}

// TestTheReferenceListsWhatIsServed: each family is served with its type, and no
// other. Those by status are there once something was refused.
func TestTheReferenceListsWhatIsServed(t *testing.T) {
	answer := httptest.NewRecorder()
	metricsHandler(t, "v1").ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var shown, listed []string
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (endpoint_views_\w+ \w+)$`).FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, found[1])
	}
	for _, f := range cli.MetricFamilies() {
		if f.Name != "endpoint_views_requests_denied_total" {
			listed = append(listed, f.Name+" "+f.Type)
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, shown); diff != "" {
		t.Errorf("families (-reference +served):\n%s\n%s", diff, text)
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promtool check metrics would say %v, %v", problems, err)
	}
}

// metricsHandler answers scrapes of a program at rest.
func metricsHandler(t *testing.T, version string) http.Handler {
	t.Helper()
	views := cache.New(1)
	current := func(time.Time) (time.Time, error) { return time.Time{}, nil }
	server, err := stream.New(stream.Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: views, Stale: current, MostClients: 1, MostOfOne: 1,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	served, err := xds.New(xds.Options{Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: views, MostClients: 1, MostOfOne: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return cli.MetricsHandler(cli.MetricsOptions{Version: version, Cache: views, Server: server, Stale: current, Identities: func() error { return nil },
		XDS:   func() xds.Stats { return served.Stats() },
		Known: func() time.Time { return time.Now().Add(-time.Second) }, Requests: func(count func(verb, code string, requests uint64)) { count("watch", "200", 3) },
	})
}

// TestContract143WhoDoesNotTakeItsMetricsMakesWay: as many as are scraped at a time keep no other
// one out.
func TestContract143WhoDoesNotTakeItsMetricsMakesWay(t *testing.T) {
	server := httptest.NewServer(metricsHandler(t, strings.Repeat("v", 8<<20)))
	defer server.Close()
	for range 8 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err = io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	response, err := server.Client().Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK || len(text) < 8<<20 {
		t.Errorf("beside slow clients: got status %d, %d bytes and %v, want the metrics", response.StatusCode, len(text), err)
	}
}
