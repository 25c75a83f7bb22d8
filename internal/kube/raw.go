package kube

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Raw is an object that its reader decodes itself, strictly: what the server says of it
// is in JSON.
type Raw struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	JSON []byte
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Raw) UnmarshalJSON(data []byte) error {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			metav1.ObjectMeta `json:",inline"`
			ManagedFields     anyJSON `json:"managedFields"` // most of what an object is
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	r.TypeMeta, r.ObjectMeta, r.JSON = head.TypeMeta, head.Metadata.ObjectMeta, slices.Clone(data)
	return nil
}

// anyJSON is any JSON value, of which nothing is kept.
type anyJSON struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (anyJSON) UnmarshalJSON([]byte) error { return nil }

// DeepCopyObject implements runtime.Object. What was read is never changed, so that the copy
// may share it.
func (r *Raw) DeepCopyObject() runtime.Object { return new(*r) }

// UpdateStatus sends an object, as JSON, whose status replaces that of the object of the
// name, and reads the server's answer.
func (c *Client) UpdateStatus(ctx context.Context, r Resource, name string, object []byte, into runtime.Object) error {
	return c.send(ctx, func(l *lane) *rest.Request {
		return l.request("PUT", r).Name(name).SubResource("status").SetHeader("Content-Type", runtime.ContentTypeJSON).Body(object)
	}, decode(into))
}
