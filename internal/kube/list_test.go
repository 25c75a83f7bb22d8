package kube_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// body is an API server that answers every request so.
type body struct {
	kind string
	io.Reader
}

func (b body) RoundTrip(r *http.Request) (*http.Response, error) {
	response := answer(r, http.StatusOK, "")
	response.Header.Set("Content-Type", b.kind)
	response.Body = io.NopCloser(b.Reader)
	return response, nil
}

// each lists Services of that answer, and calls seen for each.
func each(t *testing.T, b body, seen func(*corev1.Service)) (*internalversion.List, error) {
	t.Helper()
	config := &rest.Config{Host: "https://192.0.2.1"}
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return b })
	return reading(t, config).Each(t.Context(), kube.Services("shop"), metav1.ListOptions{},
		func() runtime.Object { return &corev1.Service{} },
		func(object runtime.Object) runtime.Object {
			seen(object.(*corev1.Service))
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: object.(*corev1.Service).Name}}
		})
}

// TestContract170AListIsDecodedObjectByObject: the answer goes on only as far as it was
// taken, so that no more than two of its objects are in memory.
func TestContract170AListIsDecodedObjectByObject(t *testing.T) {
	const many = 50
	reader, writer := io.Pipe()
	seen := make(chan string, many)
	ahead := 0
	go func() {
		_, _ = io.WriteString(writer, `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`)
		for i := range many {
			ahead = max(ahead, i-len(seen))
			_, _ = fmt.Fprintf(writer, `%s{"metadata":{"name":"web-%d","annotations":{"a":"%s"}}}`, strings.Repeat(",", min(i, 1)), i, strings.Repeat("x", 250_000))
		}
		_, _ = io.WriteString(writer, `]}`)
		_ = writer.Close()
	}()
	list, err := each(t, body{"application/json", reader}, func(s *corev1.Service) { seen <- s.Name })
	if err != nil || len(list.Items) != many || list.ResourceVersion != "7" {
		t.Fatalf("got %+v, %v, want %d objects", list, err, many)
	}
	if ahead > 2 {
		t.Errorf("got %d objects of the answer before the first of them was decoded, want 2 at most", ahead)
	}
}

// services is a list in protobuf, as an API server sends it.
func services(t *testing.T) (encoded []byte, list *corev1.ServiceList) {
	t.Helper()
	list = &corev1.ServiceList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"}}
	for i := range 3 {
		list.Items = append(list.Items, corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Annotations: map[string]string{"a": strings.Repeat("x", i*10_000)}}})
	}
	list.APIVersion, list.Kind = "v1", "ServiceList"
	var buffer bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &buffer); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes(), list
}

func TestContract02AListInProtobufIsReadToItsEnd(t *testing.T) {
	encoded, want := services(t)
	var got []corev1.Service
	list, err := each(t, body{runtime.ContentTypeProtobuf, bytes.NewReader(encoded)}, func(s *corev1.Service) { got = append(got, *s) })
	if err != nil || list.ResourceVersion != "7" || list.Continue != "more" || len(list.Items) != 3 {
		t.Fatalf("got %+v, %v", list, err)
	}
	if diff := cmp.Diff(want.Items, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, length := range []uint64{1 << 63, 1<<64 - 1, 1 << 41} {
		for _, field := range []byte{1, 2, 3} {
			text := binary.AppendUvarint(append([]byte("k8s\x00"), field<<3|2), length)
			if _, err := each(t, body{runtime.ContentTypeProtobuf, bytes.NewReader(text)}, func(*corev1.Service) {}); err == nil {
				t.Errorf("field %d of %d bytes: got no error", field, length)
			}
		}
	}
	for _, size := range []int{3, 5, 20, 100, len(encoded) / 2, len(encoded) - 20} {
		if list, err := each(t, body{runtime.ContentTypeProtobuf, bytes.NewReader(encoded[:size])}, func(*corev1.Service) {}); err == nil && list.ResourceVersion != "" {
			t.Errorf("%d of %d bytes: got %d objects, want an error", size, len(encoded), len(list.Items))
		}
	}
}

func TestContract02AnAnswerThatIsNoSuchListIsNone(t *testing.T) {
	for _, text := range []string{
		`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}]}`,
		`{"kind":"ServiceList","apiVersion":"v2","metadata":{"resourceVersion":"7"},"items":[]}`,
		`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}`,
		`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}]`,
		`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":{}}`,
		`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":["a"]}`,
		`[]`, `"x"`, ``, `<html>`,
	} {
		if list, err := each(t, body{"application/json", strings.NewReader(text)}, func(*corev1.Service) {}); err == nil {
			t.Errorf("%s: got %+v, want an error", text, list)
		}
	}
}
