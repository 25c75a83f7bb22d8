package main

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// form is what the API server asks of a text. It may let pass what the program refuses,
// and refuses nothing that the program lets pass.
type form struct {
	longest int64
	rules   []apiextensionsv1.ValidationRule
}

// durationForm is what time.ParseDuration reads.
const durationForm = `^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

const (
	label      = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
	subdomain  = `[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	labelKey   = `([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?`
	labelValue = `([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?`
	// demand is one requirement of a label selector.
	demand = `\s*(!\s*` + labelKey + `|` + labelKey + `(\s*(=|==|!=)\s*` + labelValue + `|\s*[<>]\s*-?[0-9]+|\s+(in|notin)\s*\([^()]*\))?)\s*`
	status = `\s*0*[1-5][0-9][0-9]\s*(-\s*0*[1-5][0-9][0-9]\s*)?`
	port   = `[1-9][0-9]{0,4}`
)

// formats are the forms by the names that markers have for them.
var formats = map[string]form{
	"dns-label": {63, matches(label, "is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends); write for example web")},
	"dns-subdomain": {253, matches(subdomain,
		"is not a DNS name (at most 253 of a-z, 0-9, - and ., a letter or digit at both ends of each part); write for example web.example.com")},
	"uuid": {36, matches(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`,
		"is not a UUID; copy the UUID from the IONOS console; it looks like 0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e")},
	"selector": {1024, matches(demand+`(,`+demand+`)*`, "is not a label selector; write for example pool=web,tier!=edge")},
	"host": {253, []apiextensionsv1.ValidationRule{rule(fmt.Sprintf(`isIP(self) || self.lowerAscii().matches(r'^%s$')`, subdomain),
		"is not a host name or IP address; write for example web.example.com, without a port")}},
	"url-path": {1024, matches(`/([!-\x22$&->@-~]|%[0-9a-fA-F]{2})*([?][!-\x22$-~]*)?`,
		"is not the path of a URL; write it as it stands in a request, for example /healthz, with %20 for a space")},
	"status": {256, append(
		matches(status+`(,`+status+`)*`, "is not a list of HTTP statuses from 100 to 599 and ranges of them; write for example 200-399,404"),
		rule(`!self.matches(r'^[-0-9,\s]+$') || self.split(',').all(r, !r.contains('-') || int(r.split('-')[0].trim()) <= int(r.split('-')[1].trim()))`,
			"has a range that ends before it begins; write the smaller number first"))},
	"ports": {11, append(
		matches(port+`(-`+port+`)?`, `is not a port from 1 to 65535 or a range of them; write for example "30080" or "31000-31999"`),
		rule(fmt.Sprintf(`!self.matches(r'^%s(-%[1]s)?$') || self.split('-').all(p, int(p) <= 65535)`, port),
			`is not a port from 1 to 65535 or a range of them; write for example "30080" or "31000-31999"`),
		rule(fmt.Sprintf(`!self.matches(r'^%s-%[1]s$') || int(self.split('-')[0]) <= int(self.split('-')[1])`, port),
			"ends before it begins; write the smaller number first"))},
	"address": {45, []apiextensionsv1.ValidationRule{rule(`isIP(self)`,
		"is not an IP address, has a zone, or is IPv4 written as IPv6; write for example 10.0.0.11")}},
	"node-name": {253, matches(`[^\s\pC]+`, "holds a space or a control character; write the name without it")},
	"subnet":    {49, subnetRules()},
}

// matches demands that the whole text has a form.
func matches(pattern, message string) []apiextensionsv1.ValidationRule {
	return []apiextensionsv1.ValidationRule{rule(fmt.Sprintf("self.matches(r'^%s$')", group(pattern)), message)}
}

// group keeps alternatives together.
func group(pattern string) string {
	if strings.Contains(pattern, "|") {
		return "(" + pattern + ")"
	}
	return pattern
}

// forbidden are the ranges of package filter: no pool contains any of them.
var forbidden = []string{
	"127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "ff00::/8",
	"0.0.0.0/8", "255.255.255.255/32", "240.0.0.0/4", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24",
	"169.254.169.254/32", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32",
	"2001:db8::/32", "3fff::/20", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32",
	"fd00:ec2::/32", "fd20:ce::254/128", "fd00:c1::a9fe:a9fe/128", "fd00:42::42/128", "fd00:a9fe:a9fe::1/128", "fd00:100::100:200/128",
}

func subnetRules() []apiextensionsv1.ValidationRule {
	ranges := "['" + strings.Join(forbidden, "', '") + "']"
	return []apiextensionsv1.ValidationRule{
		rule("isCIDR(self)", "is not an address range, or is IPv4 written as IPv6; write for example 10.0.0.0/24"),
		rule("!isCIDR(self) || cidr(self) == cidr(self).masked()", "has bits set after its prefix; write the first address of the range, for example 10.0.0.0/24"),
		rule("!isCIDR(self) || cidr(self).prefixLength() >= (cidr(self).ip().family() == 4 ? 8 : 32)", "is larger than /8 (IPv6: /32); name the ranges of the nodes"),
		rule("!isCIDR(self) || !"+ranges+".exists(f, cidr(f).containsCIDR(self) || cidr(self).containsCIDR(f))",
			"contains a loopback, link-local, multicast, reserved, documentation or cloud metadata address, which is never published; name smaller ranges, without it"),
	}
}

// selectorSchema is that of a label selector with limits.
func selectorSchema() apiextensionsv1.JSONSchemaProps {
	text := func(longest int64) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: &longest}
	}
	value, atomic := text(63), "atomic"
	operator := text(12)
	for _, word := range []string{"In", "NotIn", "Exists", "DoesNotExist"} {
		operator.Enum = append(operator.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + word + `"`)})
	}
	values := apiextensionsv1.JSONSchemaProps{
		Type: "array", MaxItems: new(int64(32)), XListType: &atomic, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &value},
	}
	expression := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"key", "operator"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"key": text(317), "operator": operator, "values": values},
	}
	const hint = "is not a label selector; write for example {matchLabels: {tier: gold}}"
	return apiextensionsv1.JSONSchemaProps{
		Type: "object", XMapType: &atomic,
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"matchLabels": {
				Type: "object", MaxProperties: new(int64(16)), AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &value},
			},
			"matchExpressions": {
				Type: "array", MaxItems: new(int64(8)), XListType: &atomic, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &expression},
			},
		},
		XValidations: []apiextensionsv1.ValidationRule{
			rule("has(self.matchLabels) && self.matchLabels.size() > 0 || has(self.matchExpressions) && self.matchExpressions.size() > 0",
				"is empty, which would allow every namespace; write matchLabels; to allow all: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: Exists}]}"),
			rule(fmt.Sprintf("!has(self.matchLabels) || self.matchLabels.all(k, k.matches('^%s$') && self.matchLabels[k].matches('^%s$'))", labelKey, labelValue), hint),
			rule(fmt.Sprintf("!has(self.matchExpressions) || self.matchExpressions.all(e, e.key.matches('^%s$') && (has(e.values) && e.values.size() > 0) == (e.operator in ['In', 'NotIn']))", labelKey), hint),
			rule(fmt.Sprintf("!has(self.matchExpressions) || self.matchExpressions.all(e, !has(e.values) || e.values.all(v, v.matches('^%s$')))", labelValue), hint),
		},
	}
}
