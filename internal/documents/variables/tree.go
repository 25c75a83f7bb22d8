package variables

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree is a document under construction, with its fields in the order they were put.
type tree struct{ *yaml.Node }

func newTree() tree { return tree{&yaml.Node{Kind: yaml.MappingNode}} }

// put sets the field of a path such as spec.guard.failOpen.
func (t tree) put(path string, value *yaml.Node) { put(t.Node, path, value) }

func put(node *yaml.Node, path string, value *yaml.Node) {
	name, rest, below := strings.Cut(path, ".")
	for i := 0; i < len(node.Content); i += 2 {
		switch {
		case node.Content[i].Value != name:
			continue
		case below:
			put(node.Content[i+1], rest, value)
		default:
			node.Content[i+1] = value
		}
		return
	}
	if below {
		group := newTree()
		group.put(rest, value)
		value = group.Node
	}
	node.Content = append(node.Content, text(name), value)
}

// text is a value that YAML reads as text again, with quotes if need be.
func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// list is a list on one line where its entries are single values.
func list(entries []*yaml.Node) *yaml.Node {
	node := &yaml.Node{Kind: yaml.SequenceNode, Content: entries}
	for _, entry := range entries {
		if entry.Kind != yaml.ScalarNode {
			return node
		}
	}
	node.Style = yaml.FlowStyle
	return node
}
