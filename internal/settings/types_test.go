package settings_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

func TestStatusRangesContainBothEnds(t *testing.T) {
	ranges := settings.ParseStatuses("200-299", " 404")
	for status, want := range map[int]bool{199: false, 200: true, 250: true, 299: true, 300: false, 403: false, 404: true, 405: false} {
		if got := ranges.Contains(status); got != want {
			t.Errorf("Contains(%d) = %v, want %v", status, got, want)
		}
	}
}

func TestArgsAreSplitAsAShellDoes(t *testing.T) {
	for value, want := range map[string][]string{
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
		`"ä ö" 日本 \é "\ü"`:         {"ä ö", "日本", "é", `\ü`},
		`a\`:                       {`a\`},
		"\"it's\" ''''":            {"it's", ""},
	} {
		got, err := settings.Args(value)
		if err != nil {
			t.Errorf("Args(%q): %v", value, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Args(%q) (-want +got):\n%s", value, diff)
		}
	}
}

func TestArgsRefuseWhatOnlyAShellCanDo(t *testing.T) {
	means := func(sign string, at int) string {
		return fmt.Sprintf("holds %s at character %d, and no shell runs to carry out what that means; put single quotes around it to pass it on as it stands", sign, at)
	}
	for value, want := range map[string]string{
		`$HOME`:      means("$", 1),
		`a "x${B}y"`: means("$", 5),
		`a$(date)`:   means("$", 2),
		"a `date`":   means("`", 3),
		`"$(date)"`:  means("$", 2),
		`$((1+1))`:   means("$", 1),
		`<(date)`:    means("<", 1),
		`$'a\n'`:     means("$", 1),
		`$"a"`:       means("$", 1),
		`@(a|b)`:     means("(", 2),
		`a # b`:      means("#", 3),
		`# b`:        means("#", 1),
		`a | b`:      means("|", 3),
		`a && b`:     means("&", 3),
		`a; b`:       means(";", 2),
		`a > b`:      means(">", 3),
		`a 2>b`:      means(">", 4),
		`a &`:        means("&", 3),
		`a (b)`:      means("(", 3),
		`a <<EOF`:    means("<", 3),
		`a $(`:       means("$", 3),
		"a\x00b":     "holds a NUL or a carriage return; remove it",
		`it's`:       "does not close the ' at character 3; close it, or put a backslash before it",
		`"a`:         "does not close the \" at character 1; close it, or put a backslash before it",
	} {
		args, err := settings.Args(value)
		if err == nil {
			t.Errorf("Args(%q) = %q, want an error", value, args)
			continue
		}
		if got := err.Error(); got != want {
			t.Errorf("Args(%q):\n got %s\nwant %s", value, got, want)
		}
	}
}
