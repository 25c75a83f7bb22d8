package transport_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// A program may print its token in base64, alone, with a line break, or behind a user name.
func TestContract35ASecretInBase64IsHidden(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"s3cr3t-t0ken?>~", "abcdef", "ey.a-token_of_32_characters_here"} {
		for _, before := range []string{"", "u", "us", "user:", "\n"} {
			for _, after := range []string{"", "\n", "ab", "abc"} {
				for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
					text := encoding.EncodeToString([]byte(before + secret + after))
					shown := transport.Hide("it says "+text+" to us", []string{secret})
					if !strings.Contains(shown, transport.Mask) || !strings.HasPrefix(shown, "it says ") || !strings.HasSuffix(shown, " to us") {
						t.Errorf("%q behind %q before %q: got %q", secret, before, after, shown)
					}
					if rest := strings.Trim(strings.NewReplacer("it says ", "", " to us", "").Replace(shown), "="); len(rest) > len(transport.Mask)+len(before)*4/3+len(after)*4/3+4 {
						t.Errorf("%q behind %q before %q: %q shows more than what stands around it", secret, before, after, shown)
					}
				}
			}
		}
	}
	if got := transport.Hide("YWJj in a word", []string{"abc"}); got != "YWJj in a word" {
		t.Errorf("got %q, want that a word of three letters is no secret in base64", got)
	}
}
