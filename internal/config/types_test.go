package config_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
)

func TestStatusRangesContainBothEnds(t *testing.T) {
	var ranges config.StatusRanges
	if err := ranges.Decode("200-299, 404"); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]bool{199: false, 200: true, 250: true, 299: true, 300: false, 403: false, 404: true, 405: false} {
		if got := ranges.Contains(status); got != want {
			t.Errorf("Contains(%d) = %v, want %v", status, got, want)
		}
	}
}

func TestSubnetsContainAddressesOfTheirOwnFamily(t *testing.T) {
	var subnets config.Subnets
	if err := subnets.Decode("10.0.0.0/24,fd00:10::/64"); err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bool{
		"10.0.0.0": true, "10.0.0.255": true, "10.0.1.0": false, "fd00:10::1": true, "fd00:11::1": false, "::ffff:10.0.0.1": false,
	} {
		if got := subnets.Contains(netip.MustParseAddr(addr)); got != want {
			t.Errorf("Contains(%s) = %v, want %v", addr, got, want)
		}
	}
}

func TestArgsAreSplitAsAShellDoes(t *testing.T) {
	for value, want := range map[string]config.Args{
		`a b`:                      {"a", "b"},
		"  a \t b\n c ":            {"a", "b", "c"},
		`'a b' "c d" e\ f`:         {"a b", "c d", "e f"},
		`a'b'"c"d`:                 {"abcd"},
		`'' ""`:                    {"", ""},
		`"a\"b\\c\d\$e"`:           {`a"b\c\d$e`},
		`\$HOME '$HOME' '$(date)'`: {"$HOME", "$HOME", "$(date)"},
		`'it'\''s'`:                {"it's"},
		"a\\\nb \\\n c":            {"ab", "c"},
		`--selector='a in (b,c)'`:  {"--selector=a in (b,c)"},
		`A=1 {a,b} *.json ~/x a?`:  {"A=1", "{a,b}", "*.json", "~/x", "a?"},
		`a#b`:                      {"a#b"},
		`"ä ö" 日本`:                 {"ä ö", "日本"},
	} {
		var got config.Args
		if err := got.Decode(value); err != nil {
			t.Errorf("Decode(%q): %v", value, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Decode(%q) (-want +got):\n%s", value, diff)
		}
	}
}

func TestArgsRefuseWhatOnlyAShellCanDo(t *testing.T) {
	const (
		word     = "; write the value itself, or put single quotes around it to pass it on as it stands"
		quote    = "; put single quotes around it: no shell runs, so there are no pipes, redirections or lists of commands"
		unclosed = "; close what is opened there, or put a backslash before it"
	)
	for value, want := range map[string]string{
		`$HOME`:      "holds a variable at character 1, and no shell runs to replace it" + word,
		`a "x${B}y"`: "holds a variable at character 5, and no shell runs to replace it" + word,
		`a$(date)`:   "holds a command substitution at character 2, and no shell runs to replace it" + word,
		"a `date`":   "holds a command substitution at character 3, and no shell runs to replace it" + word,
		`"$(date)"`:  "holds a command substitution at character 2, and no shell runs to replace it" + word,
		`$((1+1))`:   "holds an arithmetic expansion at character 1, and no shell runs to replace it" + word,
		`<(date)`:    "holds a process substitution at character 1, and no shell runs to replace it" + word,
		`$'a\n'`:     "holds a $ before a quotation mark at character 1, and no shell runs to replace it" + word,
		`$"a"`:       "holds a $ before a quotation mark at character 1, and no shell runs to replace it" + word,
		`@(a|b)`:     "holds an expansion at character 1, and no shell runs to replace it" + word,
		`a # b`:      "holds a comment; put single quotes around the word that begins with #",
		`# b`:        "holds a comment; put single quotes around the word that begins with #",
		"a\x00b":     "holds a NUL or a carriage return; remove it",
		`a | b`:      "cannot be split into words (at character 3: `|` is not a valid word)" + quote,
		`a && b`:     "cannot be split into words (at character 3: `&&` is not a valid word)" + quote,
		`a; b`:       "cannot be split into words (at character 2: `;` is not a valid word)" + quote,
		`a > b`:      "cannot be split into words (at character 3: `>` is not a valid word)" + quote,
		`a 2>b`:      "cannot be split into words (at character 4: `>` is not a valid word)" + quote,
		`a &`:        "cannot be split into words (at character 3: `&` is not a valid word)" + quote,
		`a (b)`:      "cannot be split into words (at character 3: `(` is not a valid word)" + quote,
		`a <<EOF`:    "cannot be split into words (at character 3: `<<` is not a valid word)" + quote,
		`it's`:       "cannot be split into words (at character 3: reached EOF without closing quote `'`)" + unclosed,
		`"a`:         "cannot be split into words (at character 1: reached EOF without closing quote `\"`)" + unclosed,
		`a $(`:       "cannot be split into words (at character 3: reached EOF without matching `$(` with `)`)" + unclosed,
	} {
		var args config.Args
		err := args.Decode(value)
		if err == nil {
			t.Errorf("Decode(%q) = %q, want an error", value, args)
			continue
		}
		if got := err.Error(); got != want {
			t.Errorf("Decode(%q):\n got %s\nwant %s", value, got, want)
		}
	}
}
