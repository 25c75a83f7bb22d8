package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Args are the arguments of a program, already split.
type Args []string

// String returns the arguments quoted for a shell, such that Decode returns
// the same arguments.
func (a Args) String() string {
	words := make([]string, 0, len(a))
	for _, arg := range a {
		words = append(words, shellQuote(arg))
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./=-]+$`)

func shellQuote(arg string) string {
	if plainWord.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// Decode implements envconfig.Decoder. It splits as a shell does: at white
// space, with single quotes, double quotes and backslashes. Because no shell
// runs, what a shell would replace or carry out is refused rather than passed
// on as text or dropped; *, ? and ~ are passed on as they stand.
func (a *Args) Decode(value string) error {
	if strings.ContainsAny(value, "\x00\r") {
		return problem{rule: "holds a NUL or a carriage return", remedy: "remove it"}
	}
	var args Args
	end := 0
	for word, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).WordsSeq(strings.NewReader(value)) {
		if err != nil {
			return notWords(err)
		}
		start := int(word.Pos().Offset())
		if err := onlySpace(value[end:start]); err != nil {
			return err
		}
		end = int(word.End().Offset())
		arg, err := literal(word.Parts)
		if err != nil {
			return err
		}
		args = append(args, arg)
	}
	if err := onlySpace(value[end:]); err != nil {
		return err
	}
	*a = args
	return nil
}

// notWords explains what the parser met instead of a word: an operator, or the
// end where a quotation mark has no counterpart.
func notWords(err error) error {
	p := problem{
		rule:   "cannot be split into words",
		remedy: "put single quotes around it: no shell runs, so there are no pipes, redirections or lists of commands",
	}
	var parseError syntax.ParseError
	if !errors.As(err, &parseError) {
		return p
	}
	p.rule += fmt.Sprintf(" (at character %d: %s)", parseError.Pos.Offset()+1, parseError.Text)
	if strings.Contains(parseError.Text, "EOF") {
		p.remedy = "close what is opened there, or put a backslash before it"
	}
	return p
}

var spaces = regexp.MustCompile(`^(?:[ \t\n]|\\\n)*$`)

// onlySpace refuses what the parser skipped although it is no white space. That
// is a comment.
func onlySpace(skipped string) error {
	if spaces.MatchString(skipped) {
		return nil
	}
	return problem{rule: "holds a comment", remedy: "put single quotes around the word that begins with #"}
}

// literal returns the text of a word that needs no shell.
func literal(parts []syntax.WordPart) (string, error) {
	var text strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text.WriteString(unescape(part.Value))
			continue
		case *syntax.SglQuoted:
			if !part.Dollar {
				text.WriteString(part.Value)
				continue
			}
		case *syntax.DblQuoted:
			quoted, err := quotedLiteral(part)
			if err != nil {
				return "", err
			}
			text.WriteString(quoted)
			continue
		}
		return "", needsShell(part)
	}
	return text.String(), nil
}

// unescape removes the backslashes of unquoted text.
func unescape(text string) string {
	return escaped.ReplaceAllStringFunc(text, func(pair string) string {
		return strings.TrimPrefix(pair[1:], "\n")
	})
}

var (
	escaped       = regexp.MustCompile(`(?s)\\.`)
	escapedQuoted = regexp.MustCompile("(?s)\\\\[$`\"\\\\\n]")
)

// quotedLiteral returns the text between double quotes, where a backslash
// escapes only what is special there.
func quotedLiteral(quoted *syntax.DblQuoted) (string, error) {
	if quoted.Dollar {
		return "", needsShell(quoted)
	}
	var text strings.Builder
	for _, part := range quoted.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", needsShell(part)
		}
		text.WriteString(escapedQuoted.ReplaceAllStringFunc(lit.Value, func(pair string) string {
			return strings.TrimPrefix(pair[1:], "\n")
		}))
	}
	return text.String(), nil
}

// needsShell refuses a construct that only a shell can carry out.
func needsShell(part syntax.WordPart) error {
	what := "an expansion"
	switch part.(type) {
	case *syntax.ParamExp:
		what = "a variable"
	case *syntax.CmdSubst:
		what = "a command substitution"
	case *syntax.ArithmExp:
		what = "an arithmetic expansion"
	case *syntax.ProcSubst:
		what = "a process substitution"
	case *syntax.SglQuoted, *syntax.DblQuoted:
		what = "a $ before a quotation mark"
	}
	return problem{
		rule:   fmt.Sprintf("holds %s at character %d, and no shell runs to replace it", what, part.Pos().Offset()+1),
		remedy: "write the value itself, or put single quotes around it to pass it on as it stands",
	}
}

// Names is a list of environment variable names, sorted.
type Names []string

// String returns the names as the environment spells them.
func (n Names) String() string { return strings.Join(n, ",") }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Decode implements envconfig.Decoder.
func (n *Names) Decode(value string) error {
	names, err := decodeList(value, func(name string) (string, error) {
		if !variableName.MatchString(name) {
			return "", problem{rule: quote(name) + " is not the name of a variable", remedy: "write names only, for example AWS_PROFILE,LANG"}
		}
		return name, nil
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	*n = slices.Compact(names)
	return nil
}
