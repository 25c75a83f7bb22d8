package transport

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// TokenValidity returns from when until when a JSON Web Token is valid; each is zero where
// the token does not say it, and both are where the text is no token. It verifies no
// signature: that is for the server that gets the token.
func TokenValidity(token string) (begins, ends time.Time) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims map[string]any
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return time.Time{}, time.Time{}
	}
	return cmp.Or(moment(claims["iat"]), moment(claims["nbf"])), moment(claims["exp"])
}

// moment is the time that a claim says, zero where it says none before the year
// 10000.
func moment(claim any) time.Time {
	const latest = 253402300799
	seconds, ok := claim.(float64)
	if !ok || seconds < 1 || seconds > latest {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}
