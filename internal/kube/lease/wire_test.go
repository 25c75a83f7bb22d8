package lease_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// decoded reads the Lease that a client sent.
func decoded(body io.Reader) (*coordinationv1.Lease, error) {
	if body == nil {
		return nil, errors.New("no lease")
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(coordinationv1.SchemeGroupVersion, &coordinationv1.Lease{})
	object, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return nil, fmt.Errorf("got a %T", object)
	}
	return lease, nil
}

func answer(code int, body any) *http.Response {
	data, _ := json.Marshal(body)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)),
	}
}

func failure(code int, reason metav1.StatusReason, message string) *http.Response {
	return answer(code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reason, Message: message, Code: int32(code),
	})
}
