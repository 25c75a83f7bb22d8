package ionos

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
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
	credential, err := t.credentials.current()
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", credential.header)
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
	response.Body = &bounded{ReadCloser: response.Body, left: maxBody}
	return response, nil
}

// CloseIdleConnections lets http.Client close them.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// bounded fails where an answer is longer than anything that makes sense; cut
// short it could look complete.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	return n, err
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
}

// credential is what one request carries.
type credential struct {
	// header is the value of Authorization.
	header string
	// secrets must not appear in any error.
	secrets []string
}

// current returns the credential of this moment.
func (c *credentials) current() (credential, error) {
	if c.token == nil {
		password, err := c.password()
		if err != nil {
			return credential{}, fmt.Errorf("IONOS_PASSWORD cannot be read: %w", err)
		}
		password = strings.TrimSpace(password)
		encoded := base64.StdEncoding.EncodeToString([]byte(c.username + ":" + password))
		return credential{"Basic " + encoded, []string{password, encoded}}, nil
	}
	token, err := c.token()
	if err != nil {
		return credential{}, fmt.Errorf("IONOS_TOKEN cannot be read: %w", err)
	}
	token = plainToken(token)
	if token == "" {
		return credential{}, errors.New("IONOS_TOKEN is empty; set it, or write the token to the file that IONOS_TOKEN_FILE names")
	}
	var expiry int64
	if at, ok := expiryOf(token); ok {
		expiry = at.Unix()
	}
	c.expiry.Store(expiry)
	return credential{"Bearer " + token, []string{token}}, nil
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

// harmless returns a text of the service for an error.
func (c credential) harmless(text string) string {
	const longest = 200
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	const window = 6 // characters that chance does not repeat
	for _, secret := range c.secrets {
		for i := 0; i == 0 || i+window <= len(secret); i++ {
			if part := secret[i:min(len(secret), i+window)]; part != "" && strings.Contains(text, part) {
				return ""
			}
		}
	}
	return text
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
