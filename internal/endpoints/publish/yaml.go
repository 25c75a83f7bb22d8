package publish

import (
	"bytes"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// YAML renders the slices for people and for comparison, one document each, in
// the order given: same state, same bytes. The server's own bookkeeping
// (managedFields, resourceVersion, uid, generation, creationTimestamp) is not
// part of the state and is left out.
func YAML(objects ...*discoveryv1.EndpointSlice) ([]byte, error) {
	var out bytes.Buffer
	for i, object := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		document, err := yaml.Marshal(presentable(object))
		if err != nil {
			return nil, fmt.Errorf("render slice %s as YAML: %w", object.Name, err)
		}
		out.Write(document)
	}
	return out.Bytes(), nil
}

// presentable returns a copy of the object without the server's bookkeeping. It
// is a shallow one: rendering leaves what is shared alone.
func presentable(object *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	out := *object
	out.APIVersion, out.Kind = discoveryv1.SchemeGroupVersion.String(), "EndpointSlice"
	out.ManagedFields = nil
	out.ResourceVersion, out.UID, out.Generation = "", "", 0
	out.CreationTimestamp = metav1.NewTime(time.Time{})
	if out.Endpoints == nil {
		out.Endpoints = []discoveryv1.Endpoint{}
	}
	return &out
}
