package deploy_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// documents decodes manifests strictly: an unknown or a doubled field fails the
// test, as does a kind that Kubernetes does not have.
func documents(t *testing.T, manifests string) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	var found []runtime.Object
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		found = append(found, object)
	}
}
