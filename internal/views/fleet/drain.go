package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// DrainOptions say how an Envoy is drained.
type DrainOptions struct {
	// Admin is its admin page.
	Admin netip.AddrPort
	// Least is how long it goes on at the least: so long it may take until no load balancer
	// and no kube-proxy sends it new connections.
	Least time.Duration
	// Quiet is how long there has to be no request where connections stay. These are
	// idle: what came over them was answered with the wish to close.
	Quiet time.Duration
	// Timeout bounds all of it.
	Timeout time.Duration
}

const (
	drainLook         = 200 * time.Millisecond
	adminTimeout      = 2 * time.Second
	longestStatistics = 16 << 20
)

// ErrDrainTimeout says that something was still active when the time was over.
var ErrDrainTimeout = errors.New("the time is over")

// Drain tells the Envoy that it ends, and returns when nothing is active in it. From the first
// moment its page /ready says so, and each answer asks its client to close the connection;
// new connections are still served.
func Drain(ctx context.Context, o DrainOptions) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, ErrDrainTimeout)
	defer cancel()
	started := time.Now()
	for _, path := range []string{"/healthcheck/fail", "/drain_listeners?graceful&skip_exit"} {
		if _, err := askAdmin(ctx, o.Admin, http.MethodPost, path); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(drainLook)
	defer ticker.Stop()
	quiet := time.Now()
	var active Active
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, and %d requests and %d connections are active: %w", context.Cause(ctx), active.Requests, active.Streams, ctx.Err())
		case <-ticker.C:
		}
		text, err := askAdmin(ctx, o.Admin, http.MethodGet, "/stats?format=json&filter="+url.QueryEscape(statistics))
		if err != nil {
			return err
		}
		if active, err = count(text); err != nil {
			return err
		}
		now := time.Now()
		if active.Requests > 0 || active.Streams > 0 {
			quiet = now
			continue
		}
		if now.Sub(started) >= o.Least && (active.Idle == 0 || now.Sub(quiet) >= o.Quiet) {
			return nil
		}
	}
}

// askAdmin asks the admin page, again and again while it has no time to answer: an Envoy that is
// busy is not idle. What changes something has to be a POST.
func askAdmin(ctx context.Context, admin netip.AddrPort, method, path string) (text []byte, err error) {
	for {
		if text, err = tryAdmin(ctx, admin, method, path); ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return text, err
		}
	}
}

// tryAdmin sends one request to the admin page.
func tryAdmin(ctx context.Context, admin netip.AddrPort, method, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+admin.String()+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask Envoy at %s: %w", admin, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestStatistics))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("ask Envoy at %s for %s: it answers %s", admin, path, response.Status)
	}
	return text, err
}

// Active is what is going on in an Envoy.
type Active struct {
	// Requests are those of HTTP, Streams the connections of TCP, Idle all other
	// connections: those of HTTP.
	Requests, Streams, Idle int
}

// statistics are those that are counted.
const statistics = `^(http\..*\.downstream_(rq|cx)_active|listener\..*\.downstream_cx_active)$`

// count reads the statistics of an Envoy.
func count(text []byte) (Active, error) {
	var page struct {
		Stats []struct {
			Name  string      `json:"name"`
			Value json.Number `json:"value"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return Active{}, fmt.Errorf("read the statistics of Envoy: %w", err)
	}
	var requests, ofHTTP, all int
	for _, one := range page.Stats {
		value, err := one.Value.Int64()
		if err != nil || without(one.Name) {
			continue
		}
		switch {
		case strings.HasSuffix(one.Name, ".downstream_rq_active"):
			requests += int(value)
		case strings.HasPrefix(one.Name, "http."):
			ofHTTP += int(value)
		default:
			all += int(value)
		}
	}
	return Active{Requests: requests, Streams: max(0, all-ofHTTP), Idle: ofHTTP}, nil
}

// without reports whether a statistic does not count: those of Envoy's own pages, and of a
// listener those for each thread, which are there once for all threads, too.
func without(name string) bool {
	return strings.Contains(name, ".worker_") || slices.ContainsFunc([]string{"admin", envoyconfig.HealthName}, func(page string) bool {
		return strings.HasPrefix(name, "http."+page+".") || strings.HasPrefix(name, "listener."+page+".")
	})
}
