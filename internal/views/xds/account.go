package xds

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
