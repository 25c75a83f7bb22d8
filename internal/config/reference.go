package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

const referenceHead = "<!-- Generated from internal/config by \"go generate ./internal/config\". Do not edit. -->\n" + `
# Configuration

The program is configured by environment variables alone. ` + "`config validate`" + ` checks them, ` + "`config show`" + ` prints what is in effect and where it comes from, and ` + "`config docs`" + ` prints this page.

- All mistakes are reported together, before anything is read, probed or written; the exit status is then 2.
- A variable that is set but blank counts as unset. White space around a value is dropped.
- A misspelling of one of these is a mistake. Any other variable that begins like one of these is a warning, because it may belong to another program: it has no effect, and ` + "`config validate`, `check`" + ` and the log at the start name it. The ones that Kubernetes injects for Services (` + "`*_SERVICE_HOST`, `*_PORT` and so on" + `) and those that the inventory command is given are neither.
- A duration is a number with a unit: ` + "`500ms`, `30s`, `2m`, `1h30m`" + `.
- A secret has a twin with the suffix ` + "`_FILE`" + `, which names a file that holds it. The file is read again at each use, so a rotated secret needs no restart. Secrets are never printed.
`

// Reference returns the documentation of all variables as Markdown.
func Reference() string {
	var page strings.Builder
	page.WriteString(referenceHead)
	for _, s := range new(Config).sections() {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| variable | default | meaning |\n|---|---|---|\n", s.title, s.intro)
		for _, v := range gather(s.fields) {
			name := code(v.name)
			if _, ok := v.secret(); ok {
				name += " or " + code(v.name+fileSuffix)
			}
			fmt.Fprintf(&page, "| %s | %s | %s |\n", name, defaultOf(v.tags), cell(meaning(v)))
		}
		fmt.Fprintf(&page, "\n```sh\n%s\n```\n", s.example)
	}
	return page.String()
}

// defaultOf says what an unset variable stands for. A fallback is a default in
// words, which follows from something else.
func defaultOf(tags reflect.StructTag) string {
	if tags.Get("required") == "true" {
		return "**required**"
	}
	if value := tags.Get("default"); value != "" {
		return code(value)
	}
	if fallback := tags.Get("fallback"); strings.HasPrefix(fallback, "<") {
		return code(fallback)
	}
	return variableInText.ReplaceAllString(tags.Get("fallback"), "`$0`")
}

// variableInText finds the names of variables in a description, with the value
// that may follow.
var variableInText = regexp.MustCompile(`\b[A-Z]+(_[A-Z]+)+(=[a-z-]+|_?\*)?|\b(IONOS|SECURED)_\*`)

// meaning puts together what the tags say of a variable.
func meaning(v variable) string {
	desc := v.tags.Get("desc")
	text := variableInText.ReplaceAllString(strings.ToUpper(desc[:1])+desc[1:]+".", "`$0`")
	if c, ok := v.target().(chooser); ok {
		text += " One of " + code(c.choices()...) + "."
	}
	if v.tags.Get("min") != "" {
		text += " Limits: " + limits(v.tags) + "."
	}
	if example := v.tags.Get("example"); example != "" {
		text += " Example: " + code(example) + "."
	}
	return text
}

// code sets words in code style, separated by commas.
func code(words ...string) string { return "`" + strings.Join(words, "`, `") + "`" }

// cell keeps a text from ending its table cell or becoming HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}
