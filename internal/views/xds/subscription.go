package xds

import (
	"hash/maphash"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

const (
	// mostNames is how many resources of a kind a client may ask for.
	mostNames = 50_000
	// mostKept is how much the streams of one identity may make this program remember of
	// names that it has no resource for, in bytes.
	mostKept = 24 << 20
	// mostAnswered is how much may wait to be sent to the streams of one identity about such
	// names, in bytes, when one more answer is made.
	mostAnswered = 4 << 20
	// nameCost is what a name that is asked for takes, versionCost what one takes that a
	// client has, beside its text. Both are rough.
	nameCost, versionCost = 24, 320
)

// subscription is what an Envoy wants of a kind, and what it has. Of names only the hash is
// kept: a proxy may ask for any number that do not exist.
type subscription struct {
	interest

	client *client
	kind   envoyconfig.Kind
	// begun says that the client has asked, everything that it wants all there is, and
	// legacy that it does because it has named nothing yet.
	begun, everything, legacy bool
	// names are those asked for, and whether they count against the bound of the identity.
	names map[uint64]bool
}

// wish is what one request says.
type wish struct {
	more, fewer []string
	// has are the versions that the client has when it begins, gone those of them of which
	// it is told later to remove them.
	has  map[string]string
	gone map[string]struct{}
}

// everyName stands for everything in a list of names.
const everyName = "*"

// seed makes the hashes of names those of this process: nobody can choose names that clash.
var seed = maphash.MakeSeed()

func newSubscription(c *client, kind envoyconfig.Kind) *subscription {
	s := &subscription{client: c, kind: kind, names: make(map[uint64]bool)}
	s.changes = true
	s.wants = func(name string) bool {
		_, named := s.names[maphash.String(seed, name)]
		return named || s.everything
	}
	return s
}

// begin takes over what a request says of everything, and what the client has when it begins.
// It returns the names that are left.
func (s *subscription) begin(w wish) wish {
	if !s.begun {
		s.begun, s.anew, s.has, s.kept = true, true, w.has, w.gone
		// Only for these an empty request means everything.
		s.legacy = s.kind == envoyconfig.Clusters || s.kind == envoyconfig.Listeners
		s.everything = s.legacy && len(w.more) == 0
	}
	if s.legacy && len(w.more) == 0 {
		return wish{}
	}
	s.legacy = false
	if slices.Contains(w.more, everyName) {
		s.everything, s.anew = true, true
	}
	return w
}

// add adds a name.
func (s *subscription) add(name string, there func(string) bool) error {
	hash := maphash.String(seed, name)
	if _, named := s.names[hash]; named {
		return nil
	}
	if len(s.names) >= mostNames {
		return errTooMany("of type " + s.kind.String())
	}
	s.names[hash] = !there(name)
	if s.names[hash] {
		return s.client.keep(nameCost)
	}
	return nil
}

// remove removes a name. Of everything the client still has it, or is told that it is gone.
func (s *subscription) remove(name string) {
	if name == everyName {
		s.everything, s.anew = false, true
		return
	}
	hash := maphash.String(seed, name)
	if s.names[hash] {
		_ = s.client.keep(-nameCost) // less is never too much
	}
	delete(s.names, hash)
	if s.everything {
		s.note(name, again)
	} else {
		delete(s.has, name)
	}
}

func errTooMany(what string) error {
	return status.Errorf(codes.ResourceExhausted, "the stream names more than %d resources %s; name fewer", mostNames, what)
}

// account is what the streams of one identity have.
type account struct {
	streams, kept, answering int
	// said is how many names they have said lately, as of a time.
	said float64
	asOf time.Time
	// slot is full while one of them reads or handles a long request.
	slot chan struct{}
}

// say counts names that a client says, and returns by how many these are too many.
func (c *client) say(names int) float64 {
	c.server.accounting.Lock()
	defer c.server.accounting.Unlock()
	a, now := c.account, time.Now()
	a.said = max(0, a.said-now.Sub(a.asOf).Seconds()*namesASecond) + float64(1+names)
	a.asOf = now
	return a.said - namesAtOnce
}

// rested reports whether an identity has said nothing lately that counts.
func (s *Server) rested(a *account, now time.Time) bool {
	s.accounting.Lock()
	defer s.accounting.Unlock()
	return a.said <= now.Sub(a.asOf).Seconds()*namesASecond
}

// answer counts so many bytes for the answer that is sent now. A stream whose answer is too
// much beside those of the other streams ends.
func (c *client) answer(bytes int) {
	c.server.accounting.Lock()
	others := c.account.answering - c.answering
	c.account.answering, c.answering = others+bytes, bytes
	c.server.accounting.Unlock()
	if bytes > shortRequest && others > mostAnswered {
		c.end(status.Errorf(codes.ResourceExhausted, "the streams of %s have not read answers of %d MiB about resources that do not exist; read them", c.name(), mostAnswered>>20))
	}
}

// keep counts so many bytes more that this program remembers because of what the client says.
func (c *client) keep(bytes int) error {
	s := c.server
	s.accounting.Lock()
	defer s.accounting.Unlock()
	c.account.kept += bytes
	if c.kept += bytes; bytes > 0 && c.account.kept > mostKept {
		return status.Errorf(codes.ResourceExhausted, "the streams of %s hold more than %d MiB of names of resources that do not exist; connect again with fewer names", c.name(), mostKept>>20)
	}
	return nil
}
