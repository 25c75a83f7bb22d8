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
- [The chart](../../helm/ionos-endpointslice-controller/README.md) has a value for each variable: ` + "`HEALTH_CHECK_INTERVAL`" + ` is ` + "`controller.healthCheckInterval`" + `.
`

// mainExample is an installation with the main variables.
const mainExample = `SOURCE_KIND=ionos
SECURED_SUBNET_CIDR=10.7.222.0/24
SECURED_KUBECONFIG=/etc/remote/kubeconfig
IONOS_TOKEN_FILE=/etc/ionos/token
IONOS_DATACENTER_ID=0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e
IONOS_PRIVATE_LAN_ID=2
TARGET_NAMESPACE=backends
TARGET_SERVICE_NAME=web
TARGET_PORT=8080
STORE_KIND=client-go
LEADER_ELECTION=true
METRICS_ADDRESS=0.0.0.0:8081`

// Reference returns the documentation of all variables as Markdown: first those
// that nearly every installation sets, then the others by section.
func Reference() string {
	var page strings.Builder
	page.WriteString(referenceHead)
	page.WriteString("\n## Main\n\nNearly every installation sets some of these, and many set no others.\n\n")
	c := new(Config)
	page.WriteString(table(c.variables(), isMain))
	fmt.Fprintf(&page, "\n```sh\n%s\n```\n", mainExample)
	page.WriteString("\n## Advanced\n\nThe other variables, by subject.\n")
	for _, s := range c.sections() {
		fmt.Fprintf(&page, "\n### %s\n\n%s\n\n", s.title, s.intro)
		page.WriteString(table(gather(s.fields), func(v variable) bool { return !isMain(v) }))
		fmt.Fprintf(&page, "\n```sh\n%s\n```\n", s.example)
	}
	return page.String()
}

const viewsReferenceHead = "<!-- Generated from internal/config by \"go generate ./internal/config\". Do not edit. -->\n" + `
# Configuration of endpoint-views

The program is configured by environment variables alone. ` + "`endpoint-views config validate`" + ` checks them, ` + "`config show`" + ` prints what is in effect and where it comes from, and ` + "`config docs`" + ` prints this page.

- All mistakes are reported together, before anything is read; the exit status is then 2.
- A variable that is set but blank counts as unset. White space around a value is dropped.
- A misspelling of one of these is a mistake. Any other variable that begins like one of these has no effect; ` + "`endpoint-views config validate` and the log of `endpoint-views serve`" + ` name it.
- ` + "`endpoint-views get`" + ` and ` + "`endpoint-views explain`" + ` use ` + "`KUBECONFIG`, or else `~/.kube/config`" + `, as kubectl does.
- [Endpoint views](../how-to/endpoint-views.md) shows how to use them.
`

// ViewsReference returns the documentation of the variables of endpoint-views.
func ViewsReference() string {
	var page strings.Builder
	page.WriteString(viewsReferenceHead)
	for _, s := range new(Views).sections() {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n", s.title, s.intro)
		page.WriteString(table(gather(s.fields), func(variable) bool { return true }))
		fmt.Fprintf(&page, "\n```sh\n%s\n```\n", s.example)
	}
	return page.String()
}

// isMain tells the variables that nearly every installation sets.
func isMain(v variable) bool {
	switch v.name {
	case "SOURCE_KIND",
		"SECURED_SUBNET_CIDR", "SECURED_KUBECONFIG", "SECURED_NODE_SELECTOR",
		"IONOS_TOKEN", "IONOS_DATACENTER_ID", "IONOS_PRIVATE_LAN_ID",
		"TARGET_NAMESPACE", "TARGET_SERVICE_NAME", "TARGET_PORT",
		"HEALTH_CHECK_MODE", "HEALTH_CHECK_PATH",
		"STORE_KIND", "LEADER_ELECTION", "METRICS_ADDRESS":
		return true
	}
	return false
}

// table has a row for each variable that is wanted.
func table(all []variable, wanted func(variable) bool) string {
	var text strings.Builder
	text.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, v := range all {
		if !wanted(v) {
			continue
		}
		name := code(v.name)
		if _, ok := v.secret(); ok {
			name += " or " + code(v.name+fileSuffix)
		}
		fmt.Fprintf(&text, "| %s | %s | %s |\n", name, defaultOf(v.tags), cell(meaning(v)))
	}
	return text.String()
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
