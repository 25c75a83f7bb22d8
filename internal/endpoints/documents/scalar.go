package documents

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// decoder sets a field to the value of a node, or says what is wrong with the value.
type decoder func(node *yaml.Node, target reflect.Value) *problem

// scalarOf returns the decoder of a type that is one value; nil for others.
func scalarOf(target reflect.Value) decoder {
	if target.Type() == reflect.TypeFor[metav1.Duration]() {
		return decodeDuration
	}
	switch target.Kind() {
	case reflect.String:
		return decodeText
	case reflect.Bool:
		return decodeBool
	case reflect.Int32:
		return decodeNumber
	default:
		return nil
	}
}

// scalar decodes one value.
func (w *walk) scalar(node *yaml.Node, target reflect.Value, path string, decode decoder) {
	if node.Kind != yaml.ScalarNode {
		w.note(path, problem{"is " + nounOf(node) + ", not one value", "write one value"})
		return
	}
	if w.broken[path] {
		return // what the document is was read before
	}
	if p := decode(node, target); p != nil {
		w.noteValue(path, node.Value, *p)
	}
}

func decodeText(node *yaml.Node, target reflect.Value) *problem {
	if node.ShortTag() != "!!str" {
		return new(notText(node))
	}
	target.SetString(node.Value)
	return nil
}

// notText says that a text was written as something else.
func notText(node *yaml.Node) problem {
	return problem{"is " + nounOf(node) + ", not text", "write " + settings.Quote(node.Value) + " with quotes"}
}

func decodeBool(node *yaml.Node, target reflect.Value) *problem {
	if node.ShortTag() != "!!bool" {
		return &problem{"is neither true nor false", "write true or false, without quotes"}
	}
	target.SetBool(strings.EqualFold(node.Value, "true"))
	return nil
}

// wholeNumber is a number that YAML and JSON read alike: 010 is eight in one of them.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func decodeNumber(node *yaml.Node, target reflect.Value) *problem {
	if node.ShortTag() == "!!str" && wholeNumber.MatchString(node.Value) {
		return &problem{"is text, not a number", "write " + node.Value + " without quotes"}
	}
	if node.ShortTag() != "!!int" || !wholeNumber.MatchString(node.Value) {
		remedy := "write digits only"
		if digits, ok := strings.CutSuffix(node.Value, "%"); ok && wholeNumber.MatchString(digits) {
			remedy = "write " + digits
		}
		return &problem{"is not a whole number", remedy}
	}
	number, err := strconv.ParseInt(node.Value, 10, 32)
	if err != nil {
		return &problem{"is beyond what the field can hold", "write a smaller number"}
	}
	target.SetInt(number)
	return nil
}

// longestDuration is the limit of the API server, whose rules cost by the length of a text.
const longestDuration = 32

func decodeDuration(node *yaml.Node, target reflect.Value) *problem {
	if found := settings.Problems(settings.FormDuration, node.Value); len(found) > 0 {
		return &problem{found[0].Rule, found[0].Remedy}
	}
	if node.ShortTag() != "!!str" { // 0
		return &problem{"is a duration without a unit", "write " + node.Value + "s"}
	}
	if utf8.RuneCountInString(node.Value) > longestDuration {
		return &problem{fmt.Sprintf("has more than %d characters", longestDuration), "write a number with a unit, such as 30s"}
	}
	duration, _ := time.ParseDuration(node.Value) // the form was judged
	target.Set(reflect.ValueOf(metav1.Duration{Duration: duration}))
	return nil
}

// resolved follows aliases.
func resolved(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// nouns are what values are called, by their tag.
var nouns = map[string]string{
	"!!str": "text", "!!int": "a number", "!!float": "a number", "!!bool": "true or false", "!!timestamp": "a date", "!!null": "nothing",
}

// nounOf says what a node is.
func nounOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a group of fields"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode, yaml.DocumentNode, yaml.ScalarNode:
	}
	return cmp.Or(nouns[node.ShortTag()], "something else")
}
