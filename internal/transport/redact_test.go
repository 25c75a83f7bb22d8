package transport_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

func TestCutKeepsToTheBoundAndSplitsNoCharacter(t *testing.T) {
	tests := []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"the address 10.0.0.12 is long", 24, "the address ..."},
		{"ääääääääää", 13, "ääää ..."},
		{strings.Repeat("x", 20), 10, "xxxxxx ..."},
	}
	for _, test := range tests {
		if got := transport.Cut(test.text, test.most); got != test.want {
			t.Errorf("Cut(%q, %d): got %q, want %q", test.text, test.most, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(4, 40).Draw(t, "most")
		if got := transport.Cut(text, most); len(got) > most || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("Cut(%q, %d): got %q", text, most, got)
		}
	})
}

func TestContract35NoUserNameOrPasswordOfAURLIsShown(t *testing.T) {
	for _, url := range []string{
		"http://admin:s3cr3t@proxy:3128/", "http://admin:s3cr3t/with/slash@proxy:3128", "https://s3cr3t@10.0.0.1:6443/%zz",
		"socks5://admin:s3cr3t@evil@proxy:1080", "//admin:s3cr3t@proxy",
	} {
		for _, text := range []string{url, fmt.Sprintf("parse %q: invalid port", url), "dial <" + url + ">: refused"} {
			got := transport.HideUserInfo(text)
			if strings.Contains(got, "s3cr3t") || strings.Contains(got, "admin") {
				t.Errorf("got %q of %q", got, text)
			}
		}
	}
	const plain = "GET https://10.0.0.1:6443/api/v1/nodes: mail to admin@example.org"
	if got := transport.HideUserInfo(plain); got != plain {
		t.Errorf("got %q, want what holds no user name as it was", got)
	}
}

func TestContract35SecretsAreHiddenWhoeverRepeatsThem(t *testing.T) {
	var secrets transport.Secrets
	secrets.Add(" t0ken-s3cr3t\n", "abc", "")
	if got, want := secrets.Hide("the server said t0ken-s3cr3t to abc"), "the server said "+transport.Mask+" to abc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	secrets.Add("cret-of-one", "s3cret-of-one-and-all", "abcd", "cdef", "zyzy")
	for text, want := range map[string]string{
		"-s3cret-of-one-and-all-": "-" + transport.Mask + "-", // one secret in another
		"-abcdef-":                "-" + transport.Mask + "-", // two that overlap
		"-zyzyzy-":                "-" + transport.Mask + "-", // one that overlaps itself
		"abcd abcdabcd":           transport.Mask + " " + transport.Mask,
	} {
		if got := secrets.Hide(text); got != want {
			t.Errorf("Hide(%q): got %q, want %q", text, got, want)
		}
	}
	for i := range 100 {
		secrets.Add(fmt.Sprintf("plugin-token-%03d", i))
	}
	if got := secrets.Hide("plugin-token-099 plugin-token-000"); got != transport.Mask+" plugin-token-000" {
		t.Errorf("got %q, want the newest hidden, and what is remembered bounded", got)
	}
}

func TestPrintableIsOneLineThatNoTerminalObeys(t *testing.T) {
	if got, want := transport.Printable("a\nb\x1b[31mc\xffd\u202e"), "a b [31mc\uFFFDd "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
