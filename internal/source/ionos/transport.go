package ionos

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	ionoscloud "github.com/ionos-cloud/sdk-go/v6"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/retryafter"
)

const (
	// maxBody bounds one answer; a thousand servers at depth 3 are 8 MB.
	maxBody = 32 << 20
	// requestTimeout bounds one request where the read has no shorter deadline.
	requestTimeout = 30 * time.Second
	// pingAfter is how long a connection of HTTP/2 may be silent before a ping is
	// sent on it, pingTimeout how long the answer may take before the connection
	// is closed. Without pings a dead connection is used for as long as the
	// operating system sends its data again, a quarter of an hour.
	pingAfter   = 5 * time.Second
	pingTimeout = 3 * time.Second
	// maxRetryAfter bounds how long the service can keep us from asking.
	maxRetryAfter = time.Hour
	// mostSaid is how many bytes of the service's own words an error has.
	mostSaid = 200
)

// headerRetryAfter is where the SDK does not find Retry-After, which it takes for
// a mistake when it is a date, and leaves the connection open.
const headerRetryAfter = "X-Original-Retry-After"

// transport does for every request what the SDK leaves undone or does wrong: it
// keeps connections, sets the credentials of this moment, bounds the answer, and
// notes the rate limit. It belongs to one client.
type transport struct {
	base        http.RoundTripper
	credentials *credentials
	limits      atomic.Pointer[RateLimit]
}

// newTransport owns its connections; it never touches http.DefaultClient. What
// Wrap makes is the last to see a request.
func newTransport(options Options) *transport {
	base := &http.Transport{}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		base = standard.Clone()
	}
	base.Proxy = proxy
	base.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	t := &transport{base: base, credentials: &credentials{token: options.Token, username: options.Username, password: options.Password}}
	if options.Wrap != nil {
		t.base = options.Wrap(base)
	}
	return t
}

// proxy is the proxy of the environment. The error about a bad one would repeat
// its password.
func proxy(request *http.Request) (*url.URL, error) {
	through, err := http.ProxyFromEnvironment(request)
	if err != nil {
		return nil, errors.New("HTTPS_PROXY or HTTP_PROXY is not a URL")
	}
	return through, nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(original *http.Request) (*http.Response, error) {
	request := original.Clone(original.Context())
	request.Close = false // the SDK closes the connection after each request
	// The SDK takes this one from the environment, at every request.
	request.Header.Del("X-Contract-Number")
	header, err := t.credentials.header()
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", header)
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if limits, ok := rateLimit(response.Header, time.Now()); ok {
		t.limits.Store(&limits)
	}
	if after := response.Header.Values("Retry-After"); len(after) > 0 {
		response.Header[headerRetryAfter] = after
		response.Header.Del("Retry-After")
	}
	// Cut short, an answer could look complete: this one fails.
	response.Body = http.MaxBytesReader(nil, response.Body, maxBody)
	return response, nil
}

// CloseIdleConnections lets http.Client close them.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// credentials are read again for every request, so that a rotated token works
// at once.
type credentials struct {
	token    func() (string, error)
	username string
	password func() (string, error)
	// expiry is when the token used last expires, in Unix seconds; 0 if it does
	// not say.
	expiry atomic.Int64
	// secrets are those that were used, which no error may repeat.
	secrets redact.Secrets
}

// header returns the value of Authorization at this moment.
func (c *credentials) header() (string, error) {
	if c.token == nil {
		password, err := c.password()
		if err != nil {
			return "", fmt.Errorf("IONOS_PASSWORD cannot be read: %w", err)
		}
		password = strings.TrimSpace(password)
		encoded := base64.StdEncoding.EncodeToString([]byte(c.username + ":" + password))
		c.secrets.Add(password, encoded)
		return "Basic " + encoded, nil
	}
	token, err := c.token()
	if err != nil {
		return "", fmt.Errorf("IONOS_TOKEN cannot be read: %w", err)
	}
	token = plainToken(token)
	if token == "" {
		return "", errors.New("IONOS_TOKEN is empty; set it, or write the token to the file that IONOS_TOKEN_FILE names")
	}
	var expiry int64
	if at, ok := expiryOf(token); ok {
		expiry = at.Unix()
	}
	c.expiry.Store(expiry)
	c.secrets.Add(token)
	return "Bearer " + token, nil
}

// expires returns when the token used last expires.
func (c *credentials) expires() (time.Time, bool) {
	seconds := c.expiry.Load()
	return time.Unix(seconds, 0), seconds != 0
}

// variable names what the operator has to renew.
func (c *credentials) variable() string {
	if c.token == nil {
		return "IONOS_USERNAME and IONOS_PASSWORD"
	}
	return "IONOS_TOKEN"
}

// plainToken is the token without what people copy along with it.
func plainToken(text string) string {
	words := strings.Fields(text)
	if len(words) > 0 && strings.EqualFold(words[0], "bearer") {
		words = words[1:]
	}
	return strings.Join(words, " ")
}

// expiryOf reads when a JSON Web Token expires. Its signature is for the API to
// check.
func expiryOf(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Expires float64 `json:"exp"`
	}
	const latest = 253402300799 // the end of the year 9999
	if json.Unmarshal(payload, &claims) != nil || claims.Expires < 1 || claims.Expires > latest {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Expires), 0), true
}

// waitError is an error that says how long not to ask again.
type waitError struct {
	error
	wait time.Duration
}

// RetryAfter is how long the service wants to be left alone.
func (e *waitError) RetryAfter() time.Duration { return e.wait }

func (e *waitError) Unwrap() error { return e.error }

// refused is the error while the service wants to be left alone.
func (c *client) refused() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := time.Until(c.until); wait > 0 {
		return &waitError{fmt.Errorf("not asked for another %s, as the API demanded: %w", wait.Round(time.Second), c.refusal), wait}
	}
	return nil
}

// explain turns what the SDK returned into our error, and remembers what the
// service demanded. The SDK's own text may hold the whole answer, and the address
// with all its parameters.
func (c *client) explain(about subject, answer *ionoscloud.APIResponse, err error) error {
	status := answer.SafeStatusCode()
	if status == 0 || status == http.StatusOK && err != nil {
		return fmt.Errorf("%s: %w", about.name, cause(err))
	}
	text := fmt.Sprintf("%s: the IONOS API answers %d %s", about.name, status, http.StatusText(status))
	if said := c.said(status, err); said != "" {
		text += " (" + said + ")"
	}
	if remedy := c.remedy(status, about.remedy); remedy != "" {
		text += "; " + remedy
	}
	said := http.Header{"Retry-After": answer.Header[headerRetryAfter], "Date": answer.Header["Date"]}
	wait := retryafter.Wait(said, time.Now(), maxRetryAfter)
	if wait <= 0 {
		return errors.New(text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until, c.refusal = time.Now().Add(wait), fmt.Errorf("%s; not asked again for %s", text, wait.Round(time.Second))
	return &waitError{c.refusal, wait}
}

// remedy says what to do about a status.
func (c *client) remedy(status int, unknown string) string {
	renew := "renew " + c.transport.credentials.variable()
	switch {
	case status == http.StatusUnauthorized:
		if at, ok := c.transport.credentials.expires(); ok && at.Before(time.Now()) {
			return fmt.Sprintf("the token expired at %s: %s", at.UTC().Format(time.RFC3339), renew)
		}
		return renew + ", which the API does not accept"
	case status == http.StatusForbidden:
		return unknown + ", or give the user of " + c.transport.credentials.variable() + " the right to read it"
	case status == http.StatusNotFound:
		return unknown
	case status == http.StatusTooManyRequests:
		return "the contract's rate limit is used up: ask less often with SOURCE_POLL_INTERVAL"
	case status >= 300 && status < 400:
		return "redirects are not followed, because they would carry the token along: correct IONOS_API_URL"
	}
	return ""
}

// said is what the service says in its error, on one line. It is nothing where that
// repeats a credential, or is about one, of which it may repeat a part.
func (c *client) said(status int, err error) string {
	var failure ionoscloud.GenericOpenAPIError
	if status == http.StatusUnauthorized || !errors.As(err, &failure) {
		return ""
	}
	model, ok := failure.Model().(ionoscloud.Error)
	if !ok || model.Messages == nil {
		return ""
	}
	for _, message := range *model.Messages {
		if text := message.Message; text != nil && c.transport.credentials.secrets.Hide(*text) == *text {
			return redact.Cut(redact.Printable(*text), mostSaid)
		}
	}
	return ""
}

// cause is the error without the address that net/http puts around it, and
// without an answer that the SDK quotes.
func cause(err error) error {
	outer := new(url.Error)
	large := new(http.MaxBytesError)
	var failure ionoscloud.GenericOpenAPIError
	switch {
	case errors.As(err, &large):
		return fmt.Errorf("the answer is larger than %d bytes", large.Limit)
	case errors.As(err, &outer):
		return outer.Err
	case errors.As(err, &failure):
		return errors.New("the answer is not what the API documents")
	case err == nil:
		return errNoAnswer
	}
	return err
}
