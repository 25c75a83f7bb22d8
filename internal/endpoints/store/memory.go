package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// MemoryOptions says what the store is for.
type MemoryOptions struct {
	Target publish.Target
	// Service is what Load says of the Service. A store in memory has none of
	// its own; without a UID the Service counts as missing.
	Service publish.Service
	// Out receives each slice that is written as a YAML document; nil prints
	// nothing.
	Out io.Writer
}

// Memory keeps the slices of one target. Its methods may be called at the same
// time.
type Memory struct {
	options MemoryOptions // but for the Service, which mu guards
	changed chan struct{}

	mu      sync.Mutex
	objects map[string]*discoveryv1.EndpointSlice // never changed in place
	version int
}

// NewMemory returns an empty store.
func NewMemory(options MemoryOptions) (*Memory, error) {
	if options.Target.SliceName == "" || options.Target.Service == "" || options.Target.ManagedBy == "" {
		return nil, errors.New("memory store: the target has no slice name, Service or managed-by value")
	}
	return &Memory{options: options, changed: make(chan struct{}, 1), objects: make(map[string]*discoveryv1.EndpointSlice)}, nil
}

// Load returns the slices as they are.
func (s *Memory) Load(ctx context.Context) (publish.State, error) {
	if err := ctx.Err(); err != nil {
		return publish.State{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	service := s.options.Service
	service.Ports = slices.Clone(service.Ports)
	return publish.StateOf(service, s.sorted(), s.options.Target), nil
}

// Write makes one slice what the write says, prints it and returns its new version.
// The error wraps publish.ErrConflict when the slice is not what the write was computed
// from.
func (s *Memory) Write(ctx context.Context, write publish.Write) (version string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.objects[write.Slice.Name]
	if err := publish.Fence(base, write, s.options.Target); err != nil {
		return "", err
	}
	object := publish.Apply(base, write, s.options.Target)
	s.keep(object)
	return object.ResourceVersion, s.print(write, object)
}

// Changed receives a value when another client changed Load's answer.
func (s *Memory) Changed() <-chan struct{} { return s.changed }

// Put writes a slice as another client of an API server would, whatever it says.
func (s *Memory) Put(object *discoveryv1.EndpointSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(object.DeepCopy())
	transport.Signal(s.changed)
}

// Remove deletes a slice as another client of an API server would.
func (s *Memory) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
	transport.Signal(s.changed)
}

// SetService changes what Load says of the Service.
func (s *Memory) SetService(service publish.Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Service = service
	transport.Signal(s.changed)
}

// Slices returns copies of all objects, sorted by name.
func (s *Memory) Slices() []*discoveryv1.EndpointSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.sorted()
	for i, object := range out {
		out[i] = object.DeepCopy()
	}
	return out
}

// keep takes over an object under a new version.
func (s *Memory) keep(object *discoveryv1.EndpointSlice) {
	s.version++
	object.ResourceVersion = strconv.Itoa(s.version)
	s.objects[object.Name] = object
}

// sorted returns the objects by name.
func (s *Memory) sorted() []*discoveryv1.EndpointSlice {
	return slices.SortedFunc(maps.Values(s.objects), func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Compare(a.Name, b.Name)
	})
}

// maxListed is how many addresses of each kind the header line lists.
const maxListed = 8

// print writes one header line that says what changed, and the slice that was
// written as a YAML document.
func (s *Memory) print(write publish.Write, object *discoveryv1.EndpointSlice) error {
	if s.options.Out == nil {
		return nil
	}
	document, err := publish.YAML(object)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "---\n# slice %s %sd: +%d -%d ~%d", write.Slice.Name, write.Operation,
		len(write.Added), len(write.Removed), len(write.Changed))
	list(&out, '+', write.Added)
	list(&out, '-', write.Removed)
	list(&out, '~', write.Changed)
	out.WriteByte('\n')
	out.Write(document)
	if _, err := s.options.Out.Write(out.Bytes()); err != nil {
		return fmt.Errorf("print slice %s: %w", write.Slice.Name, err)
	}
	return nil
}

// list writes the addresses, each behind its sign, at most maxListed.
func list(out *bytes.Buffer, sign byte, addresses []netip.Addr) {
	for i, address := range addresses {
		if i == maxListed {
			fmt.Fprintf(out, " %c...", sign)
			return
		}
		fmt.Fprintf(out, " %c%s", sign, address)
	}
}
