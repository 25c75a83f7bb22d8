package transport

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads the header Retry-After: for how long, counted from now, a server asks
// not to be asked again, at most the bound, which is whole seconds, and 0 where it says nothing
// that can be read. The header holds seconds or a date. A date is compared with
// the date of the answer, so that a wrong clock here does not matter.
func RetryAfter(answer http.Header, now time.Time, bound time.Duration) time.Duration {
	text := strings.TrimSpace(answer.Get("Retry-After"))
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(max(0, min(seconds, int64(bound/time.Second)))) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if said, err := http.ParseTime(answer.Get("Date")); err == nil {
		now = said
	}
	return max(0, min(until.Sub(now), bound))
}

// RetryAfterError is an error of a server that wants to be left alone for a time.
type RetryAfterError struct {
	Err   error
	After time.Duration
}

func (e *RetryAfterError) Error() string { return e.Err.Error() }

func (e *RetryAfterError) Unwrap() error { return e.Err }

// RetryAfterOf returns how long the server behind an error wants to be left alone; 0 where
// the error, which may be nil, does not say.
func RetryAfterOf(err error) time.Duration {
	if asks := new(RetryAfterError); errors.As(err, &asks) {
		return asks.After
	}
	return 0
}
