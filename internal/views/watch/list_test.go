package watch_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// TestContract148OfAListThatIsNotCompleteABoundedPartIsHeld: 1,000 Services of one namespace
// whose ports say 50 KB each.
func TestContract148OfAListThatIsNotCompleteABoundedPartIsHeld(t *testing.T) {
	source, err := watch.New(watch.Options{Way: kube.Fixed(&rest.Config{Host: "https://192.0.2.1"}), Selected: func(*corev1.Service) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	reduce, before := source.Transformer(), memory.Live()
	held := make([]any, 0, 1000)
	for i := range cap(held) {
		object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: fmt.Sprint("s", i), ResourceVersion: "5"}}
		for p := range 256 {
			object.Spec.Ports = append(object.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", p), Port: int32(p + 1), AppProtocol: ptr.To(object.Name + strings.Repeat("q", 200))})
		}
		kept, err := reduce(object)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, kept)
	}
	if used := memory.Live() - before; used > 32<<20 {
		t.Errorf("got %d MiB of a list in use, want at most 32", used>>20)
	}
	runtime.KeepAlive(held)
}
