package transport_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// token has these claims and no signature worth the name.
func token(claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg": "RS256"}`)) + "." + encode([]byte(claims)) + ".c2lnbmF0dXJl"
}

func TestValidityIsWhatTheTokenSays(t *testing.T) {
	for text, want := range map[string][2]int64{
		token(`{"exp": 1700000000}`):                                {0, 1700000000},
		token(`{"iat": 1600000000, "exp": 1700000000}`):             {1600000000, 1700000000},
		token(`{"nbf": 1600000000, "exp": 1700000000}`):             {1600000000, 1700000000},
		token(`{"iat": 1500000000, "nbf": 1600000000, "exp": 5.5}`): {1500000000, 5},
		token(`{"iat": 1600000000}`):                                {1600000000, 0},
		token(`{"exp": "1700000000"}`):                              {},
		token(`{"exp": 1e300}`):                                     {},
		token(`{"exp": -1}`):                                        {},
		token(`["exp"]`):                                            {},
		"":                                                          {},
		"opaque":                                                    {},
		"a.b.c":                                                     {},
	} {
		begins, ends := transport.TokenValidity(text)
		for i, got := range []time.Time{begins, ends} {
			if said := want[i] != 0; got.IsZero() == said || said && got.Unix() != want[i] {
				t.Errorf("%s: got %v and %v, want %v", text, begins, ends, want)
			}
		}
	}
}

func FuzzValidity(f *testing.F) {
	f.Add(token(`{"exp": 1700000000, "iat": 1e300}`))
	f.Add(token(`{"exp": -1}`))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, text string) {
		begins, ends := transport.TokenValidity(text)
		for _, at := range []time.Time{begins, ends} {
			if !at.IsZero() && (at.Year() < 1969 || at.Year() > 10000) {
				t.Errorf("%q: got %v", text, at)
			}
		}
	})
}
