package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
)

func TestContract27TheMemoryStoreConforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Fixture {
		target := storetest.Target("default")
		store := newMemory(t, store.MemoryOptions{Target: target})
		return &storetest.Fixture{
			Target: target, Store: store, Hand: &hand{Memory: store},
			Restart: func() storetest.Store { return store },
		}
	})
}

// hand is the other client: it changes the store past its interface.
type hand struct {
	*store.Memory

	service  *corev1.Service
	services int
}

func (h *hand) Delete(name string) { h.Remove(name) }

func (h *hand) Service() *corev1.Service { return h.service }

func (h *hand) PutService(object *corev1.Service) {
	switch {
	case h.service == nil:
		h.services++
		object.UID = types.UID(fmt.Sprint("service-", h.services))
	default:
		object.UID, object.DeletionTimestamp = h.service.UID, h.service.DeletionTimestamp
	}
	h.service = object
	if object.DeletionTimestamp != nil && len(object.Finalizers) == 0 {
		h.service = nil
	}
	h.SetService(publish.ServiceOf(h.service))
}

func (h *hand) DeleteService() {
	h.service.DeletionTimestamp = new(metav1.Now())
	h.PutService(h.service)
}

func newMemory(t *testing.T, options store.MemoryOptions) *store.Memory {
	t.Helper()
	store, err := store.NewMemory(options)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func createOf(addresses ...string) publish.Write {
	write := publish.Write{Operation: publish.Create, Slice: publish.Slice{
		Name: "web-remote", Owner: "s-1", Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}},
	}, Trigger: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, address := range addresses {
		a := netip.MustParseAddr(address)
		write.Added = append(write.Added, a)
		write.Slice.Endpoints = append(write.Slice.Endpoints, inventory.Member{Address: a, State: inventory.StateReady})
	}
	return write
}

func TestEachWritePrintsTheSliceThatItWritesBehindWhatChanged(t *testing.T) {
	var out bytes.Buffer
	store := newMemory(t, store.MemoryOptions{Target: storetest.Target("default"), Out: &out})
	if _, err := store.Write(t.Context(), createOf("10.0.0.1")); err != nil {
		t.Fatal(err)
	}
	second := createOf("fd00::1")
	second.Slice.Name, second.Slice.Family = "web-remote-ipv6", publish.IPv6
	if _, err := store.Write(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	update := createOf("10.0.0.1", "10.0.0.2")
	update.Operation, update.Slice.Version = publish.Update, "1"
	update.Added, update.Removed, update.Changed = update.Added[1:], []netip.Addr{netip.MustParseAddr("10.0.0.9")}, update.Added[:1]
	if _, err := store.Write(t.Context(), update); err != nil {
		t.Fatal(err)
	}
	document, err := publish.YAML(store.Slices()[0])
	if err != nil {
		t.Fatal(err)
	}
	want := "---\n# slice web-remote updated: +1 -1 ~1 +10.0.0.2 -10.0.0.9 ~10.0.0.1\n" + string(document)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if got := strings.Count(out.String(), "kind: EndpointSlice"); got != 1 {
		t.Errorf("got %d documents, want that of the slice alone", got)
	}
}

func TestTheHeaderLineIsBounded(t *testing.T) {
	var addresses []string
	for i := range 200 {
		addresses = append(addresses, fmt.Sprintf("10.0.0.%d", i+1))
	}
	var out bytes.Buffer
	store := newMemory(t, store.MemoryOptions{Target: storetest.Target("default"), Out: &out})
	if _, err := store.Write(t.Context(), createOf(addresses...)); err != nil {
		t.Fatal(err)
	}
	header := strings.Split(out.String(), "\n")[1]
	want := "# slice web-remote created: +200 -0 ~0 +10.0.0.1 +10.0.0.2 +10.0.0.3 +10.0.0.4 +10.0.0.5 +10.0.0.6 +10.0.0.7 +10.0.0.8 +..."
	if header != want {
		t.Errorf("got  %s\nwant %s", header, want)
	}
}

func TestARefusedWritePrintsNothing(t *testing.T) {
	var out bytes.Buffer
	store := newMemory(t, store.MemoryOptions{Target: storetest.Target("default"), Out: &out})
	update := createOf("10.0.0.1")
	update.Operation, update.Slice.Version = publish.Update, "1"
	if _, err := store.Write(t.Context(), update); !errors.Is(err, publish.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	if out.Len() != 0 {
		t.Errorf("printed %s", out.String())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWhatCannotBePrintedIsAnError(t *testing.T) {
	store := newMemory(t, store.MemoryOptions{Target: storetest.Target("default"), Out: brokenPipe{}})
	_, err := store.Write(t.Context(), createOf("10.0.0.1"))
	if err == nil || err.Error() != "print slice web-remote: broken pipe" {
		t.Errorf("got %v", err)
	}
}

func TestChangedTellsOfOtherHandsOnceUntilItIsTaken(t *testing.T) {
	store := newMemory(t, store.MemoryOptions{Target: storetest.Target("default")})
	changes := func() int {
		for n := 0; ; n++ {
			select {
			case <-store.Changed():
			default:
				return n
			}
		}
	}
	object := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "web-remote"}}
	for name, act := range map[string]func(){
		"put":         func() { store.Put(object); store.Put(object) },
		"remove":      func() { store.Remove("web-remote") },
		"set service": func() { store.SetService(publish.Service{UID: "s"}) },
	} {
		if act(); changes() != 1 {
			t.Errorf("%s: got another number of changes than one", name)
		}
	}
}

func TestWhatIsHandedOutAndInIsACopy(t *testing.T) {
	store := newMemory(t, store.MemoryOptions{
		Target:  storetest.Target("default"),
		Service: publish.Service{UID: "s", Ports: []publish.ServicePort{{Name: "http"}}},
	})
	object := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "web-remote", Labels: map[string]string{"a": "b"}}}
	store.Put(object)
	object.Labels["a"] = "in"
	store.Slices()[0].Labels["a"] = "out"
	if got := store.Slices()[0].Labels["a"]; got != "b" {
		t.Errorf("got label %q, want b", got)
	}
	state, err := store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	state.Service.Ports[0].Name = "out"
	if again, _ := store.Load(context.Background()); again.Service.Ports[0].Name != "http" {
		t.Errorf("got port %q, want http", again.Service.Ports[0].Name)
	}
}

func TestAnIncompleteTargetIsRefused(t *testing.T) {
	target := storetest.Target("default")
	target.ManagedBy = ""
	if _, err := store.NewMemory(store.MemoryOptions{Target: target}); err == nil {
		t.Error("got no error")
	}
}
