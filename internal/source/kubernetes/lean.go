package kubernetes

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// lean is a Node of which only what Translate reads, and what a watch needs, is
// decoded. The rest is nine tenths of a Node: the images on it, and who wrote
// which of its fields. Kubelets send all of it again with every heartbeat.
//
// Servers answer in protobuf; from one that can only do JSON everything is
// decoded.
type lean struct{ corev1.Node }

// leanList is a list, or a page of one, of such nodes.
type leanList struct{ corev1.NodeList }

// Unmarshal decodes the wanted fields. Whatever else there is has to be
// well-formed too.
func (l *lean) Unmarshal(data []byte) error {
	wanted, err := leanNode.cut(nil, data)
	if err != nil {
		return fmt.Errorf("decode a Node: %w", err)
	}
	return l.Node.Unmarshal(wanted)
}

// Unmarshal decodes the wanted fields of every node.
func (l *leanList) Unmarshal(data []byte) error {
	wanted, err := fields{1: whole, 2: leanNode}.cut(nil, data)
	if err != nil {
		return fmt.Errorf("decode a NodeList: %w", err)
	}
	return l.NodeList.Unmarshal(wanted)
}

// DeepCopyObject keeps the type.
func (l *lean) DeepCopyObject() runtime.Object { return &lean{*l.DeepCopy()} }

// DeepCopyObject keeps the type.
func (l *leanList) DeepCopyObject() runtime.Object { return &leanList{*l.DeepCopy()} }

// fields are those of a protobuf message that are wanted, by their numbers, which
// the API never changes, and what is wanted of each.
type fields map[protowire.Number]fields

// whole is a field with everything in it.
var whole fields

// leanNode is what is wanted of a Node. The annotations hold the mark at the end
// of a streamed list.
var leanNode = fields{
	1: { // metadata
		1: whole, 6: whole, 9: whole, 11: whole, 12: whole, // name, resourceVersion, deletionTimestamp, labels, annotations
	},
	2: {3: whole, 4: whole, 5: whole}, // spec: providerID, unschedulable, taints
	3: { // status
		4: whole, 5: whole, 7: {2: whole}, // conditions, addresses, nodeInfo.systemUUID
	},
}

// cut appends to what was kept the wanted fields of an encoded message.
func (f fields) cut(kept, message []byte) ([]byte, error) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil, protowire.ParseError(tag)
		}
		value := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if value < 0 {
			return nil, protowire.ParseError(value)
		}
		field := message[:tag+value]
		message = message[tag+value:]
		within, wanted := f[number]
		switch {
		case !wanted:
		case within == nil || kind != protowire.BytesType:
			kept = append(kept, field...)
		default:
			content, _ := protowire.ConsumeBytes(field[tag:])
			part, err := within.cut(nil, content)
			if err != nil {
				return nil, err
			}
			kept = protowire.AppendBytes(append(kept, field[:tag]...), part)
		}
	}
	return kept, nil
}
