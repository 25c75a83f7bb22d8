package ionostest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is a way to misbehave; Kinds lists them.
type Kind = string

// The kinds that answer something else.
const (
	Unauthorized Kind = "unauthorized"
	Forbidden    Kind = "forbidden"
	NotFound     Kind = "not-found"
	RateLimited  Kind = "rate-limited"
	Failed       Kind = "failed"      // 500
	BadGateway   Kind = "bad-gateway" // 502 with HTML
	Unavailable  Kind = "unavailable" // 503
	NoItems      Kind = "no-items"
	Null         Kind = "null"
	Empty        Kind = "empty"
	NoContent    Kind = "no-content" // 204
	Truncated    Kind = "truncated"  // the connection ends before the answer does
	Cut          Kind = "cut"        // half a document, of the length announced
	HTML         Kind = "html"       // 200 with HTML, as a captive portal does
	Huge         Kind = "huge"
	Redirect     Kind = "redirect"
	Slow         Kind = "slow" // waits for Delay, or for ever
	Dropped      Kind = "dropped"
	SecondPage   Kind = "second-page" // 500 for all pages but the first
	Incomplete   Kind = "incomplete"  // one document lacks the field that Lacks names
)

// The kinds that change documents.
const (
	UnknownType Kind = "unknown-type"
	IPsNull     Kind = "ips-null"
	IPsEmpty    Kind = "ips-empty"
	IPsHoled    Kind = "ips-holed" // null and "" among the addresses
	NICsNull    Kind = "nics-null"
	NICsEmpty   Kind = "nics-empty"
	Shuffled    Kind = "shuffled" // addresses in another order at each call
	NoHref      Kind = "no-href"  // links of network cards name no server
	NoLinks     Kind = "no-links" // pages without links
	Endless     Kind = "endless"  // the first page again and again
)

// Kinds lists all of them.
func Kinds() []Kind {
	return append([]Kind{
		Unauthorized, Forbidden, NotFound, RateLimited, Failed, BadGateway, Unavailable, NoItems, Null, Empty, NoContent,
		Truncated, Cut, HTML, Huge, Redirect, Slow, Dropped, SecondPage, Incomplete,
	}, changes()...)
}

// changes lists the kinds that change documents.
func changes() []Kind {
	return []Kind{UnknownType, IPsNull, IPsEmpty, IPsHoled, NICsNull, NICsEmpty, Shuffled, NoHref, NoLinks, Endless}
}

// Fault says how to misbehave.
type Fault struct {
	Kind Kind `json:"kind"`
	// On limits it to paths that hold this text.
	On string `json:"on,omitempty"`
	// Times limits it to that many requests; 0 is until Heal.
	Times int `json:"times,omitempty"`
	// RetryAfter is the header of that name: seconds, or a duration with the
	// unit h, m or s, which becomes a date.
	RetryAfter string `json:"retryAfter,omitempty"`
	// Lacks is the field that Incomplete removes from the first document that has
	// it, with its place in the answer: "items.properties" where it is empty.
	Lacks string `json:"lacks,omitempty"`
	// Delay is how long Slow waits; 0 is until the client gives up.
	Delay time.Duration `json:"delay,omitempty"`
}

// take returns the fault if it is about this request, and counts it. A fault
// that is used up has negative Times.
func (f *Fault) take(r *http.Request) Fault {
	if f.Kind == "" || !strings.Contains(r.URL.Path, f.On) {
		return Fault{}
	}
	if f.Kind == SecondPage && number(r, "offset") == 0 {
		return Fault{}
	}
	taken := *f
	if f.Times > 0 {
		if f.Times--; f.Times == 0 {
			f.Times = -1
		}
	}
	return taken
}

// spoils reports whether the fault replaces the answer.
func (f Fault) spoils() bool { return f.Kind != "" && !slices.Contains(changes(), f.Kind) }

// spoil answers wrongly. Some do so by half of the right answer.
func (f Fault) spoil(w http.ResponseWriter, r *http.Request, right http.Handler) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.retryAfter())
	}
	switch f.Kind {
	case NoItems, Null, Empty, NoContent, Cut, HTML, Incomplete:
		f.garble(w, r, right)
	case Truncated, Dropped, Huge, Slow:
		f.stall(w, r, right)
	case BadGateway:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><body><h1>502 Bad Gateway</h1></body></html>"))
	case Redirect:
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	default:
		status := map[Kind]int{
			Unauthorized: http.StatusUnauthorized, Forbidden: http.StatusForbidden, NotFound: http.StatusNotFound,
			RateLimited: http.StatusTooManyRequests, Unavailable: http.StatusServiceUnavailable,
		}[f.Kind]
		fail(w, cmp.Or(status, http.StatusInternalServerError), "told by the fake, credentials "+r.Header.Get("Authorization"))
	}
}

// retryAfter is the header: seconds stay, durations become a date.
func (f Fault) retryAfter() string {
	if _, err := strconv.Atoi(f.RetryAfter); err == nil {
		return f.RetryAfter
	}
	wait, err := time.ParseDuration(f.RetryAfter)
	if err != nil {
		return f.RetryAfter
	}
	return time.Now().Add(wait).UTC().Format(http.TimeFormat)
}
