package ionos

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	ionoscloud "github.com/ionos-cloud/sdk-go/v6"
)

// maxRetryAfter bounds how long the service can keep us from asking.
const maxRetryAfter = time.Hour

// waitError is an error that says how long not to ask again.
type waitError struct {
	error
	wait time.Duration
}

// RetryAfter is how long the service wants to be left alone.
func (e *waitError) RetryAfter() time.Duration { return e.wait }

func (e *waitError) Unwrap() error { return e.error }

// subject is what a request is about: its name in errors, and what to correct
// where the service knows nothing of it.
type subject struct {
	name   string
	remedy string
}

// explain turns what the SDK returned into our error. The SDK's own text may
// hold the whole answer, and the address with all its parameters.
func (a *api) explain(about subject, answer *ionoscloud.APIResponse, err error) error {
	status := answer.SafeStatusCode()
	if status == 0 || status == http.StatusOK && err != nil {
		return fmt.Errorf("%s: %w", about.name, cause(err))
	}
	text := fmt.Sprintf("%s: the IONOS API answers %d %s", about.name, status, http.StatusText(status))
	if said := a.said(err); said != "" {
		text += " (" + said + ")"
	}
	if remedy := a.remedy(status, about); remedy != "" {
		text += "; " + remedy
	}
	failure := errors.New(text)
	if wait := retryAfter(answer.Header, time.Now()); wait > 0 {
		return &waitError{fmt.Errorf("%w; not asked again for %s", failure, wait.Round(time.Second)), wait}
	}
	return failure
}

// remedy says what to do about a status.
func (a *api) remedy(status int, about subject) string {
	switch {
	case status == http.StatusUnauthorized:
		renew := "renew " + a.credentials.variable()
		if at, ok := a.credentials.expires(); ok && at.Before(time.Now()) {
			return fmt.Sprintf("the token expired at %s: %s", at.UTC().Format(time.RFC3339), renew)
		}
		return renew + ", which the API does not accept"
	case status == http.StatusForbidden:
		return about.remedy + ", or give the user of " + a.credentials.variable() + " the right to read it"
	case status == http.StatusNotFound:
		return about.remedy
	case status == http.StatusTooManyRequests:
		return "the contract's rate limit is used up: ask less often with SOURCE_POLL_INTERVAL"
	case status >= 300 && status < 400:
		return "redirects are not followed, because they would carry the token along: correct IONOS_API_URL"
	}
	return ""
}

// said is what the service says in its error, as far as it is short, printable
// and no secret.
func (a *api) said(err error) string {
	var failure ionoscloud.GenericOpenAPIError
	if !errors.As(err, &failure) {
		return ""
	}
	model, ok := failure.Model().(ionoscloud.Error)
	if !ok || model.Messages == nil {
		return ""
	}
	for _, message := range *model.Messages {
		if message.Message != nil && *message.Message != "" {
			return a.harmless(*message.Message)
		}
	}
	return ""
}

// harmless returns a text of the service for an error: one line, cut where it is
// long, and nothing at all if it repeats a part of a secret.
func (a *api) harmless(text string) string {
	const longest = 200
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, ""))
	credential, err := a.credentials.current()
	if err != nil {
		return ""
	}
	const window = 6 // characters that nobody repeats by chance
	for _, secret := range credential.secrets {
		for i := 0; i == 0 || i+window <= len(secret); i++ {
			if part := secret[i:min(len(secret), i+window)]; part != "" && strings.Contains(text, part) {
				return ""
			}
		}
	}
	return text
}

// cause is the error without the address that net/http puts around it, and
// without an answer that the SDK quotes.
func cause(err error) error {
	outer := new(url.Error)
	if errors.As(err, &outer) {
		return outer.Err
	}
	var failure ionoscloud.GenericOpenAPIError
	if errors.As(err, &failure) {
		return errors.New("the answer is not what the API documents")
	}
	if err == nil {
		return errNoAnswer
	}
	return err
}

// retryAfter reads the header of that name in both of its forms. A date is held
// against the date of the answer, so that a wrong clock here does not matter.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get(headerRetryAfter))
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(max(seconds, 0)) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if said, err := http.ParseTime(header.Get("Date")); err == nil {
		now = said
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}
