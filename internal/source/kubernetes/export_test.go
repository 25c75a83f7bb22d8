package kubernetes

import corev1 "k8s.io/api/core/v1"

// DecodeLean decodes a Node as it comes from a watch.
func DecodeLean(data []byte) (*corev1.Node, error) {
	node := &lean{}
	err := node.Unmarshal(data)
	return &node.Node, err
}

// DecodeLeanList decodes a list, or a page of one.
func DecodeLeanList(data []byte) (*corev1.NodeList, error) {
	list := &leanList{}
	err := list.Unmarshal(data)
	return &list.NodeList, err
}
