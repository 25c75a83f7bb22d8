package ionos

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

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

// plainToken is the token without what people copy along with it.
func plainToken(text string) string {
	text = strings.TrimSpace(text)
	const scheme = "bearer"
	if len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
		rest := text[len(scheme):]
		if trimmed := strings.TrimLeft(rest, " \t"); trimmed != rest || rest == "" {
			return trimmed
		}
	}
	return text
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
