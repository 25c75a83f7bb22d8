package documents

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// request is what pools and bindings say alike about a check.
type request struct {
	mode                       v1alpha1.HealthCheckMode
	port                       *int32
	path, host, expectedStatus string
	longestPath                int
}

func modes() []string { return []string{"None", "TCP", "HTTP", "HTTPS"} }

// checkRequest holds it against the rules. With mode None all fields are tolerated, so
// that switching the check off for an hour is one change.
func (w *walk) checkRequest(path string, r request) {
	w.oneOf(path+".mode", string(r.mode), modes())
	w.number(path+".port", r.port, 1, 65535)
	if r.path != "" && w.text(path+".path", r.path, 1, r.longestPath) {
		w.form(path+".path", r.path, settings.FormPath)
	}
	w.host(path+".host", r.host)
	if r.expectedStatus != "" && w.text(path+".expectedStatus", r.expectedStatus, 1, 256) {
		w.form(path+".expectedStatus", r.expectedStatus, settings.FormStatus)
	}
	if r.mode == v1alpha1.HealthCheckTCP && w.sound(path+".mode") {
		for _, name := range []string{"path", "host", "expectedStatus"} {
			w.useless(path+"."+name, "TCP", "HTTP or HTTPS")
		}
	}
}

// host holds the name of a host against the rules of the API server, which knows no zones
// and no IPv4 written as IPv6.
func (w *walk) host(path, value string) {
	if value == "" || !w.text(path, value, 1, 253) {
		return
	}
	w.form(path, value, settings.FormHost)
	if _, err := netip.ParseAddr(value); err == nil {
		w.checkAddress(path, value)
	}
}

// useless notes a field that a mode does not use: it looks as if something were checked
// that is not.
func (w *walk) useless(path, mode, better string) {
	if w.has(path) && w.sound(path) {
		w.note(path, problem{"has no effect with mode " + mode, "set mode to " + better + ", or remove it"})
	}
}

// oneOf demands one of a closed set of words.
func (w *walk) oneOf(path, value string, words []string) {
	if slices.Contains(words, value) || !w.sound(path) {
		return
	}
	remedy := remedyFor(value, words)
	if strings.EqualFold(value, "off") && words[0] == "None" {
		remedy = "write None"
	}
	w.noteValue(path, value, problem{"is not one of " + settings.Listed(words, "or"), remedy})
}

func (w *walk) checkPoolHealth(c *v1alpha1.PoolHealthCheck) {
	const path = "spec.healthCheck"
	w.checkRequest(path, request{c.Mode, c.Port, c.Path, c.Host, c.ExpectedStatus, 1024})
	w.duration(path+".interval", c.Interval, 100*time.Millisecond, time.Hour)
	w.duration(path+".timeout", c.Timeout, 10*time.Millisecond, time.Hour)
	if w.sound(path+".interval") && w.sound(path+".timeout") && c.Timeout.Duration > c.Interval.Duration {
		w.noteValue(path+".timeout", settings.FormatDuration(c.Timeout.Duration), problem{"is longer than the interval (" + settings.FormatDuration(c.Interval.Duration) + ")", "write at most " + settings.FormatDuration(c.Interval.Duration)})
	}
	w.number(path+".rise", c.Rise, 1, 1000)
	w.number(path+".fall", c.Fall, 1, 1000)
	w.host(path+".tlsServerName", c.TLSServerName)
	if c.Mode == v1alpha1.HealthCheckHTTPS || c.Mode == v1alpha1.HealthCheckNone || !w.sound(path+".mode") {
		return
	}
	w.useless(path+".tlsServerName", string(c.Mode), "HTTPS")
	if c.TLSInsecure != nil && *c.TLSInsecure {
		w.useless(path+".tlsInsecure", string(c.Mode), "HTTPS")
	}
}
