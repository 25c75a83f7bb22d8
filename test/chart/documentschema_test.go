package chart_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const documentsPath = "../../docs/reference/documents.md"

const (
	labelPattern    = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	poolPattern     = `^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`
	subnetPattern   = `^[0-9a-fA-F:.]+/[0-9]+$`
	portsPattern    = `^[0-9]{1,5}(-[0-9]{1,5})?$`
	durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
)

// patterns are the forms of texts that templates take apart. Other texts are for the
// program to judge.
var patterns = map[string]string{"subnets": subnetPattern, "allow[].ports": portsPattern, "credentials": labelPattern}

var (
	fieldRow = regexp.MustCompile("(?m)^\\| `spec\\.([^`]+)` \\| ([^|]+) \\| ([^|]*) \\| ([^|]*) \\|")
	quoted   = regexp.MustCompile("`([^`]+)`")
	atMost   = regexp.MustCompile(`^(?:(\d+) to|at most|at least) (\d+)`)
)

// poolsSchema is that of the value pools.
func poolsSchema(t *testing.T) map[string]any {
	t.Helper()
	return mapOf(poolPattern, specSchema(t, "EndpointPool"))
}

// bindingsSchema is that of the value bindings.
func bindingsSchema(t *testing.T) map[string]any {
	t.Helper()
	return mapOf(labelPattern, mapOf(labelPattern, specSchema(t, "EndpointBinding")))
}

func mapOf(keys string, values map[string]any) map[string]any {
	return map[string]any{"type": "object", "propertyNames": map[string]any{"pattern": keys}, "additionalProperties": values}
}

// specSchema is made of the table of fields in the reference of documents.
func specSchema(t *testing.T, kind string) map[string]any {
	t.Helper()
	_, section, _ := strings.Cut(read(t, documentsPath), "\n### Spec of "+kind+"\n")
	section, _, _ = strings.Cut(section, "\n#")
	rows := fieldRow.FindAllStringSubmatch(section, -1)
	if len(rows) < 10 {
		t.Fatalf("%s: got %d fields of %s, want every row", documentsPath, len(rows), kind)
	}
	root := groupSchema()
	for _, row := range rows {
		path, parent := strings.Split(row[1], "."), root
		for _, name := range path[:len(path)-1] {
			name, list := strings.CutSuffix(name, "[]")
			if parent = parent["properties"].(map[string]any)[name].(map[string]any); list {
				parent = parent["items"].(map[string]any)
			}
		}
		name := path[len(path)-1]
		parent["properties"].(map[string]any)[name] = fieldSchema(t, row[1], row[2], row[4])
		if row[3] == "**required**" {
			parent["required"] = append(parent["required"].([]string), name)
		}
	}
	return root
}

// groupSchema is that of a group of fields, without any yet.
func groupSchema() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}, "required": []string{}}
}

// fieldSchema says what a field may be set to, by the columns of its row.
func fieldSchema(t *testing.T, path, kind, limits string) map[string]any {
	t.Helper()
	if one, ok := strings.CutPrefix(kind, "list of "); ok {
		items := fieldSchema(t, path, strings.TrimSuffix(one, "s"), "")
		return limited(map[string]any{"type": "array", "items": items}, limits, "minItems", "maxItems")
	}
	switch kind {
	case "group":
		group := groupSchema()
		if path == "source" {
			group["minProperties"], group["maxProperties"] = 1, 1
		}
		return group
	case "text":
		text := map[string]any{"type": "string"}
		if pattern, ok := patterns[path]; ok {
			text["pattern"] = pattern
		}
		return limited(text, limits, "minLength", "maxLength")
	case "number":
		return limited(map[string]any{"type": "integer"}, limits, "minimum", "maximum")
	case "true, false":
		return map[string]any{"type": "boolean"}
	case "duration":
		return map[string]any{"type": "string", "pattern": durationPattern}
	case "word":
		var words []any
		for _, word := range quoted.FindAllStringSubmatch(limits, -1) {
			words = append(words, word[1])
		}
		return map[string]any{"enum": words}
	case "label selector":
		return selectorSchema()
	}
	t.Fatalf("%s: field %s is a %s, which the schema does not know", documentsPath, path, kind)
	return nil
}

// limited adds what a row says: 1 to 16 entries, at most 253 characters, at least 1.
func limited(schema map[string]any, limits, least, most string) map[string]any {
	m := atMost.FindStringSubmatch(limits)
	if m == nil {
		return schema
	}
	number := func(text string) int {
		n, _ := strconv.Atoi(text)
		return n
	}
	if m[1] != "" {
		schema[least] = number(m[1])
	}
	if strings.HasPrefix(limits, "at least") {
		most = least
	}
	schema[most] = number(m[2])
	return schema
}

func selectorSchema() map[string]any {
	texts := map[string]any{"type": "string"}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
		"matchLabels": map[string]any{"type": "object", "additionalProperties": texts},
		"matchExpressions": map[string]any{"type": "array", "items": map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"key", "operator"}, "properties": map[string]any{
				"key": texts, "operator": map[string]any{"enum": []string{"In", "NotIn", "Exists", "DoesNotExist"}},
				"values": map[string]any{"type": "array", "items": texts},
			},
		}},
	}}
}
