package metrics_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestEveryValueOfAClosedListIsThereFromTheStart(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(metrics.Options{Registry: registry})
	if err != nil {
		t.Fatal(err)
	}
	m.Source("file", nil)
	got := gather(t, registry)
	for _, f := range metrics.Families() {
		if open := len(f.Labels) > 0 && (f.Labels[0].Name == "pool" || f.Labels[0].Name == "target_namespace"); !open {
			wantFromTheStart(t, f, got)
		}
	}
}

// wantFromTheStart fails where a value of a metric is not there, or not what it is at first.
func wantFromTheStart(t *testing.T, f metrics.Family, got map[string]float64) {
	t.Helper()
	combinations := []string{""}
	for _, l := range slices.SortedFunc(slices.Values(f.Labels), func(a, b metrics.Label) int { return strings.Compare(a.Name, b.Name) }) {
		values := l.Values
		if l.Name == "source" {
			values = []string{"file"}
		}
		var longer []string
		for _, before := range combinations {
			for _, value := range values {
				longer = append(longer, strings.TrimPrefix(before+","+l.Name+`="`+value+`"`, ","))
			}
		}
		combinations = longer
	}
	for _, labels := range combinations {
		series := f.Name
		if f.Type == metrics.Histogram {
			series += "_count"
		}
		if labels != "" {
			series += "{" + labels + "}"
		}
		value, ok := got[series]
		absent := strings.Contains(f.Name, "_credential_")
		initial := 0.0
		if f.Name == "ionos_endpointslice_leader" {
			initial = 1
		}
		if ok == absent || value != initial {
			t.Errorf("%s: got %v (there: %t), want %v (there: %t)", series, value, ok, initial, !absent)
		}
	}
}

func TestTheStateOfTheProcessComesFromItsFunctions(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	_, err := metrics.New(metrics.Options{
		Registry: registry, Version: "v1.2.3",
		Leading: func() bool { return false }, LoopAge: func() time.Duration { return 1500 * time.Millisecond },
		LocalCredential:   func() metrics.Credential { return metrics.Credential{Expires: time.Unix(1893456002, 0)} },
		Events:            func() metrics.Events { return metrics.Events{Delivered: 3, Dropped: 2, Failed: 1} },
		UnwrittenStatuses: func() int { return 4 },
	})
	if err != nil {
		t.Fatal(err)
	}
	got := gather(t, registry)
	want(t, got, map[string]float64{
		"leader": 0, "loop_age_seconds": 1.5, "statuses_refused": 4,
		"local_credential_expiry_timestamp_seconds": 1893456002, "local_credential_lifetime_seconds": math.Inf(1),
		`events_total{result="delivered"}`: 3, `events_total{result="dropped"}`: 2, `events_total{result="error"}`: 1,
	})
	builds := slices.DeleteFunc(slices.Collect(maps.Keys(got)), func(s string) bool { return !strings.HasPrefix(s, "ionos_endpointslice_build_info{") })
	if len(builds) != 1 || !strings.Contains(builds[0], `goversion="go1.`) || !strings.Contains(builds[0], `version="v1.2.3"`) {
		t.Errorf("got %q, want one with both versions", builds)
	}
}

func TestPromlintFindsNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := start(t, nil, 1, 2, 3)
		w.during(time.Minute)
		wantNoLint(t, w.registry)
	})
}

// wantNoLint fails where "promtool check metrics" would.
func wantNoLint(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestTheHandlerServesTextOpenMetricsAndGzip(t *testing.T) {
	m, err := metrics.New(metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := serve(m.Handler(), "text/plain"); !strings.Contains(text, "ionos_endpointslice_leader 1\n") || !strings.Contains(text, "go_goroutines ") || !strings.Contains(text, "process_open_fds ") {
		t.Errorf("got %s, want our metrics and those of Go and the process", text)
	}
	if text := serve(m.Handler(), "application/openmetrics-text; version=1.0.0"); !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("got %q at the end, want that of OpenMetrics", text[max(0, len(text)-40):])
	}
	request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	request.Header.Set("Accept-Encoding", "gzip")
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, request)
	if got := answer.Header().Get("Content-Encoding"); got != "gzip" || !bytes.HasPrefix(answer.Body.Bytes(), []byte{0x1f, 0x8b}) {
		t.Errorf("got encoding %q, want gzip", got)
	}
}

func TestOneBadMetricHidesNoOther(t *testing.T) {
	m, err := metrics.New(metrics.Options{Version: "\xff"})
	if err != nil {
		t.Fatal(err)
	}
	serve(m.Handler(), "text/plain")
	text := serve(m.Handler(), "text/plain")
	if !strings.Contains(text, "ionos_endpointslice_leader 1\n") || !strings.Contains(text, `promhttp_metric_handler_errors_total{cause="gathering"} 1`) {
		t.Errorf("got %s, want the other metrics, and the error counted", text)
	}
}

func TestContract187AMetricThatPanicsHidesNoOtherAndIsLoggedOnce(t *testing.T) {
	var told []string
	broken := func() metrics.Credential {
		var credential *metrics.Credential
		return *credential
	}
	m, err := metrics.New(metrics.Options{LocalCredential: broken, Broken: func(why string) { told = append(told, why) }})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := metrics.New(metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := shown(t, whole)
	for range 3 {
		got := shown(t, m)
		for _, family := range want {
			if !slices.Contains(got, family) && !strings.Contains(family, "local_credential") {
				t.Errorf("%s is hidden", family)
			}
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "local_credential") || !strings.Contains(told[0], "metrics_test.go:") {
		t.Errorf("got told %q, want once the metric and the place", told)
	}
}

// shown are the families of a scrape.
func shown(t *testing.T, m *metrics.Metrics) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("got status %d", w.Code)
	}
	var families []string
	for line := range strings.Lines(w.Body.String()) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[1] == "TYPE" {
			families = append(families, fields[2])
		}
	}
	return families
}

func TestARegistryThatIsTakenIsRefused(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := metrics.New(metrics.Options{Registry: registry}); err != nil {
		t.Fatal(err)
	}
	var taken prometheus.AlreadyRegisteredError
	if _, err := metrics.New(metrics.Options{Registry: registry}); !errors.As(err, &taken) {
		t.Errorf("got %v, want that the metrics are there already", err)
	}
}

// serve returns the answer to one scrape.
func serve(h http.Handler, accept string) string {
	request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	request.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}
