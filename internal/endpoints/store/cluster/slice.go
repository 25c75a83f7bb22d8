package cluster

import (
	"fmt"
	"net/netip"
	"unique"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// cachedSlice is what is known of one slice. Of each the newest revision holds, wherever
// it comes from: the watch, the answer to a write of ours, or a read. So a watch that
// lags takes nothing back.
//
// A slice is dirty when it may be anything by now. It takes whatever is told of it
// next, and stays dirty until a read that began after the mark says what it is:
//
//	a write of it failed                 the write may have been carried out
//	it left a watch that selects labels  it is gone, or has lost its label
//	a complete list leaves it out        it is gone, or the list is wrong
//	it is newer than a complete list     it was written meanwhile, or the server was
//	                                     restored and its revisions began anew
//	the watch does not select it         it is read again from time to time
type cachedSlice struct {
	owner    *Store   // the one whose target has this name, nil where none has
	content  *content // nil where there is no such slice
	revision string   // up to which that is known, empty where it is not
	dirty    int      // the number of its last mark, 0 while it is clean
	// writing says that a write of ours is under way: what the watch tells of the slice
	// is no news until it is known what came of the write.
	writing bool
	// weight is what it adds to sum, the bytes of the slices without an owner.
	weight int
	sum    *int
}

// set takes over what the slice is at a revision, unless something newer is known.
func (s *cachedSlice) set(is *content, revision string) {
	if follows(revision, s.revision) {
		s.content, s.revision = is, revision
	}
}

// over forgets up to which revision it is known that there is no slice: the watch has told as
// much, and no answer that may be older is on its way.
func (s *cachedSlice) over() {
	if s.content == nil && s.dirty == 0 && !s.writing {
		s.revision = ""
	}
}

// beside returns what the slice publishes beside those of the store, the zero value
// where that is nothing. The slices of other targets that fill the same Service are
// not beside it.
func (s *cachedSlice) beside(store *Store) publication {
	c := s.content
	if c == nil || c.Endpoints == 0 || c.Service != store.target.Service || s.owner != nil && s.owner.target.Service == c.Service {
		return publication{}
	}
	return s.publication()
}

// publication is what the slice says of itself, the zero value where there is none.
func (s *cachedSlice) publication() publication {
	if s.content == nil {
		return publication{}
	}
	return publication{s.content.Service, s.content.manager, s.content.Endpoints}
}

// content is what is kept of an EndpointSlice. It is never changed.
type content struct {
	// PublishedSlice has the labels of any slice, the rest of one of ours, and no Addresses.
	assign.PublishedSlice

	version, manager string
	// ours says that it has our managed-by label.
	ours bool
	// head is the object without its endpoints as protobuf has it, and endpoints are the
	// rest of it: slices that publish the same share them.
	head      []byte
	endpoints unique.Handle[string]
	// cut says that others wrote so much into the head that it is not kept whole, and
	// counted that of the endpoints only their number is known.
	cut, counted bool
}

// Whoever may write slices decides how much they say. Of that is kept what is read.
const (
	// mostOfHead is how large a head is kept with everything that others wrote into it.
	mostOfHead = 16 << 10
	// mostOfNobodys bounds what is kept of the slices in one namespace that no target has the
	// name of: of those with our label as they are, again as much where only the number of
	// their endpoints is kept, and of all others.
	mostOfNobodys = 8 << 20
	// perSlice is what a slice takes without its texts and endpoints.
	perSlice = 512
	// mostBeside is of how many slices a target is told that they publish beside its own.
	mostBeside = 100
)

// publication is what a slice says of itself.
type publication struct {
	service, manager string
	count            int // of endpoints
}

// pack returns what is kept of an object. Of a slice of another manager it is what
// package publish says of such slices: labels, address type, and how many endpoints.
func pack(object *discoveryv1.EndpointSlice, managedBy string) (*content, error) {
	c := &content{
		version: object.ResourceVersion, manager: object.Labels[discoveryv1.LabelManagedBy],
		PublishedSlice: assign.PublishedSlice{
			Key:  assign.Key{Namespace: object.Namespace, Service: object.Labels[discoveryv1.LabelServiceName]},
			Pool: object.Labels[publish.LabelPool], Slice: object.Name, Endpoints: len(object.Endpoints),
		},
	}
	head, endpoints := *object, object.Endpoints
	head.ManagedFields, head.Endpoints = nil, nil
	if c.manager == managedBy {
		c.manager, c.ours = managedBy, true // one string for all
		if c.cut = head.Size() > mostOfHead; c.cut {
			head = *publish.OwnFields(object)
		}
		c.Ports, c.Changed = publish.PortsOf(&head), publish.ChangedAt(&head)
		if object.AddressType == discoveryv1.AddressTypeIPv6 {
			c.IPv6 = c.Endpoints
		}
		publish.Reduce(endpoints)
	} else {
		head, endpoints = *publish.OwnFields(object), make([]discoveryv1.Endpoint, c.Endpoints)
		head.Ports, head.Annotations, head.OwnerReferences = nil, nil, nil
	}
	var err error
	if c.head, err = head.Marshal(); err != nil {
		return nil, fmt.Errorf("pack slice %s/%s: %w", c.Namespace, c.Slice, err)
	}
	return c.with(endpoints)
}

// with returns the content with those endpoints.
func (c content) with(endpoints []discoveryv1.Endpoint) (*content, error) {
	rest := discoveryv1.EndpointSlice{Endpoints: endpoints}
	packed, err := rest.Marshal()
	if err != nil {
		return nil, fmt.Errorf("pack the endpoints of slice %s/%s: %w", c.Namespace, c.Slice, err)
	}
	c.endpoints = unique.Make(string(packed))
	return &c, nil
}

// number returns the content of a slice that is nobody's, with no more of its endpoints
// than their number, and nothing that others wrote into it.
func (c content) number() *content {
	head, err := c.unpackHead()
	if err == nil {
		head = publish.OwnFields(head)
		head.Ports = nil
		c.head, err = head.Marshal()
	}
	counted, failed := c.with(make([]discoveryv1.Endpoint, c.Endpoints))
	if err != nil || failed != nil { // it was packed before
		return &c
	}
	counted.cut, counted.counted = true, true
	return counted
}

// size is how many bytes are kept.
func (c *content) size() int { return len(c.head) + len(c.endpoints.Value()) }

// published says whose slice it is by its labels, and what it publishes.
func (c *content) published() assign.PublishedSlice {
	p := c.PublishedSlice
	p.Addresses = c.addresses
	return p
}

// unpack returns the object, which the caller owns.
func (c *content) unpack() (*discoveryv1.EndpointSlice, error) {
	object, err := c.unpackHead()
	if err != nil {
		return nil, err
	}
	rest := &discoveryv1.EndpointSlice{}
	if err := rest.Unmarshal([]byte(c.endpoints.Value())); err != nil {
		return nil, fmt.Errorf("unpack the endpoints of slice %s/%s: %w", c.Namespace, c.Slice, err)
	}
	object.Endpoints = rest.Endpoints
	return object, nil
}

// addresses are those of the endpoints.
func (c *content) addresses() []netip.Addr {
	object, err := c.unpack()
	if err != nil {
		return nil
	}
	var all []netip.Addr
	for _, e := range object.Endpoints {
		for _, text := range e.Addresses {
			if addr, err := netip.ParseAddr(text); err == nil {
				all = append(all, addr)
			}
		}
	}
	return all
}

// unpackHead returns the object without its endpoints, which is what a write needs of it;
// nil where there is none.
func (c *content) unpackHead() (*discoveryv1.EndpointSlice, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // no slice is an answer
	}
	object := &discoveryv1.EndpointSlice{}
	if err := object.Unmarshal(c.head); err != nil {
		return nil, fmt.Errorf("unpack slice %s/%s: %w", c.Namespace, c.Slice, err)
	}
	return object, nil
}

// versionOf is the slice's, empty where there is none.
func versionOf(c *content) string {
	if c == nil {
		return ""
	}
	return c.version
}

// follows reports whether revision a is b or later. Anything follows what is not known,
// and revisions that cannot be compared follow each other, so that nothing is kept for
// ever.
func follows(a, b string) bool {
	if b == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order >= 0
}
