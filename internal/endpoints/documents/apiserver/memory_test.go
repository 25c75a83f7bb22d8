package apiserver_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// mostMemory is what 1,000 bindings may cost: less than what they may cost more than files.
const mostMemory = 10 << 20

// TestAThousandBindingsAreSmall: of an object only the document, its version and its
// status are kept.
func TestAThousandBindingsAreSmall(t *testing.T) {
	a := newAPI()
	for i := range 1000 {
		path := fmt.Sprintf("namespaces/shop/endpointbindings/web-%d", i)
		a.apply(path, web)
		// As kubectl apply and the controller leave it.
		a.objects[path] = strings.Replace(a.objects[path], `"metadata":{`, `"metadata":{"annotations":{"a":"`+strings.Repeat("x", 2000)+`"},"managedFields":[{"manager":"`+strings.Repeat("y", 100)+`"}],`, 1)
		a.objects[path] = strings.Replace(a.objects[path], `"spec":`, `"status":{"ready":"99/100","endpoints":{"ready":99,"draining":0,"down":1},"conditions":[{"type":"Ready","message":"`+strings.Repeat("z", 1000)+`"}]},"spec":`, 1)
	}
	before := memory.Live()
	bubble.Test(t, func(t *testing.T) {
		w := watched(t, a)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := len(w.Set().Entries); got != 1002 {
			t.Errorf("got %d documents, want 1002", got)
		}
		if more := int64(memory.Live()) - int64(before); more > mostMemory {
			t.Errorf("1,000 bindings take %d kB, want at most %d", more>>10, mostMemory>>10)
		} else {
			t.Logf("1,000 bindings take %d kB", more>>10)
		}
		runtime.KeepAlive(w)
	})
}
