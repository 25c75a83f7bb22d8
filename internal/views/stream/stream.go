package stream

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

const (
	// catchUp is how long a request with a token of a replica that is further waits.
	catchUp = 5 * time.Second
	// heartbeat is the time between two bookmarks of a stream without changes. By their end a
	// client notices a replica whose node is gone, maybe together with endpoints.
	heartbeat = 10 * time.Second
	// longestStream is how long a stream lasts at the most, so that clients spread over
	// replicas again; less up to a fifth.
	longestStream = time.Hour
	// buffered is how much of a stream is written at a time, in bytes.
	buffered = 32 << 10
)

// views answers a list or a stream.
func (s *Server) views(w http.ResponseWriter, r *http.Request) *refusal {
	asked, err := parse(r.URL.Query())
	if err != nil {
		return refuse(http.StatusBadRequest, "BadRequest", "%v", err)
	}
	identity, no := s.identify(r, asked)
	if no != nil {
		return no
	}
	if !asked.watch {
		return s.list(w, asked, identity)
	}
	name := identity.name()
	if no := s.clients.enter(name); no != nil {
		return no
	}
	defer s.clients.leave(name)
	reader, err := s.reader(r.Context(), asked, identity)
	if _, stale := s.opts.Stale(time.Now()); stale != nil && errors.Is(err, cache.ErrBehind) {
		err = cache.ErrUnsure
	}
	if err != nil {
		return refused(err)
	}
	s.opts.Logger.Debug("stream begins", "client", name, "remote_address", r.RemoteAddr, "resumed", asked.token != "")
	one := &stream{Server: s, asked: asked, identity: identity, reader: reader, request: r, control: http.NewResponseController(w)}
	_ = one.control.SetWriteDeadline(time.Time{}) // from here each write has its own
	w.Header().Set("Content-Type", "application/json; stream=watch")
	one.out = bufio.NewWriterSize(w, buffered)
	why := one.run(r.Context())
	s.opts.Logger.Debug("stream ends", "client", name, "remote_address", r.RemoteAddr, "reason", why)
	return nil
}

// identify finds out which client asks, and whether it may see that.
func (s *Server) identify(r *http.Request, asked request) (*Identity, *refusal) {
	if s.opts.Identities == nil {
		return nil, s.know(r, "")
	}
	identity, err := s.opts.Identities.of(r, s.opts.TLS.TrustDomain, s.authority.accepts)
	if err != nil {
		return nil, refuse(http.StatusUnauthorized, "Unauthorized", "%v", err)
	}
	if no := s.know(r, identity.Name); no != nil {
		return nil, no
	}
	return identity, asked.allowed(identity)
}

// know takes the connection of a request out of those of strangers.
func (s *Server) know(r *http.Request, name string) *refusal {
	if conn, ok := r.Context().Value(connectionKey{}).(net.Conn); ok && !s.room.Know(conn, name) {
		return refuse(http.StatusTooManyRequests, "TooManyRequests",
			"there are more connections than VIEWS_MAX_CLIENTS and VIEWS_MAX_CLIENTS_PER_IDENTITY allow; close connections that are not used, or ask another replica").after(5)
	}
	return nil
}

// refusing answers and counts what a handler refuses.
func (s *Server) refusing(handle func(http.ResponseWriter, *http.Request) *refusal) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if no := handle(w, r); no != nil {
			s.stats.denied[no.Code].Add(1)
			s.opts.Logger.Debug("request denied", "remote_address", r.RemoteAddr, "code", no.Code, "message", no.Message)
			no.write(w)
		}
	}
}

// reader waits a while for a token of a replica that is further.
func (s *Server) reader(ctx context.Context, asked request, identity *Identity) (*cache.Reader, error) {
	token, _, _ := strings.Cut(asked.token, "~")
	if asked.token != "" && identity.seal(token) != asked.token {
		return nil, cache.ErrExpired
	}
	late := time.After(catchUp)
	for {
		moved := s.opts.Cache.Moved()
		reader, err := s.opts.Cache.Read(asked.selection(identity), token)
		if !errors.Is(err, cache.ErrBehind) && !errors.Is(err, cache.ErrUnsure) {
			if err == nil && token != "" {
				s.stats.resumed.Add(1)
			}
			return reader, err
		}
		select {
		case <-moved:
		case <-late:
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
	}
}

// annotations say that the cache is not current, if it is not.
func (s *Server) annotations() map[string]string {
	all := make(map[string]string)
	if since, err := s.opts.Stale(time.Now()); err != nil {
		all[views.AnnotationStaleSince] = since.UTC().Format(time.RFC3339)
	}
	return all
}

// stream is one client that watches.
type stream struct {
	*Server

	asked    request
	identity *Identity
	reader   *cache.Reader
	request  *http.Request
	control  *http.ResponseController
	out      *bufio.Writer
	// complete says that the state at the beginning was told, due that a bookmark is.
	complete, due bool
	// trusted is the authority that the client's certificate was last verified against.
	trusted *x509.CertPool
}

// run tells the client everything until one of both ends it, and returns why.
func (s *stream) run(ctx context.Context) string {
	ends, cancel := context.WithTimeoutCause(ctx, s.lifetime(), errors.New("it lasted as long as it may"))
	look, beat := time.NewTicker(every), time.NewTicker(heartbeat)
	defer func() { cancel(); look.Stop(); beat.Stop() }()
	for ends.Err() == nil {
		batch, err := s.reader.Next()
		if err != nil {
			return s.end(refused(err))
		}
		if err := s.timely(func() error { return s.send(batch) }); err != nil {
			return err.Error()
		}
		if batch.Changed == nil {
			if !s.may() {
				return s.end(refused(cache.ErrExpired))
			}
			continue
		}
		for quiet := true; quiet; {
			select {
			case <-batch.Changed:
				quiet = false
			case <-beat.C:
				quiet, s.due = false, true
			case <-look.C:
				if !s.may() {
					return s.end(refused(cache.ErrExpired))
				}
			case <-ends.Done():
				quiet = false
			}
		}
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(s.opts.Take)) // HTTP/1.1 writes that it ends
	return context.Cause(ends).Error()
}

// timely cuts the client off where it has not taken all of a write in time, and counts
// that. A deadline that ends by itself would not do: in HTTP/2 it may end a stream that
// has just written all, and then nothing says why the next write fails.
func (s *stream) timely(write func() error) (err error) {
	cut := make(chan struct{})
	late := time.AfterFunc(s.opts.Take, func() {
		_ = s.control.SetWriteDeadline(time.Unix(1, 0)) // long past, so nothing is written from here
		close(cut)
	})
	defer func() { // also after a panic: nothing may use a response that has ended
		if !late.Stop() {
			<-cut
			s.stats.timedOut.Add(1)
			err = fmt.Errorf("the client took no data for %v", s.opts.Take)
		}
	}()
	if write() != nil {
		return errors.New("the client went away")
	}
	return nil
}

// lifetime is how long the stream may last: not longer than the certificate.
func (s *stream) lifetime() time.Duration {
	most := longestStream - rand.N(longestStream/5)
	if s.asked.timeout > 0 {
		most = min(most, s.asked.timeout)
	}
	if t := s.request.TLS; t != nil && len(t.PeerCertificates) > 0 {
		most = min(most, time.Until(t.PeerCertificates[0].NotAfter))
	}
	return most
}

// may reports whether the client may still see what it could see when the stream
// began.
func (s *stream) may() bool {
	if s.identity == nil {
		return true
	}
	now, err := s.opts.Identities.of(s.request, s.opts.TLS.TrustDomain, s.accepts)
	return err == nil && now.Name == s.identity.Name && slices.Equal(now.Namespaces, s.identity.Namespaces)
}

// accepts verifies the client's certificate where the authority is another one since.
// When the certificate expires the stream ends anyway.
func (s *stream) accepts(state *tls.ConnectionState) error {
	pool := s.authority.current()
	if pool != nil && pool == s.trusted {
		return nil
	}
	s.trusted = pool
	return s.authority.accepts(state)
}

// send writes a batch, and what marks the end of the state at the beginning.
func (s *stream) send(batch cache.Batch) error {
	for _, event := range batch.Events {
		line(s.out, event.Type, event.Object())
		s.stats.events[slices.Index(countedEvents[:], event.Type)].Add(1)
		s.due = true
	}
	if batch.Token != "" && (s.due || !s.complete) {
		s.mark(batch.Token)
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}

// mark writes a bookmark. The first one ends the state at the beginning.
func (s *stream) mark(token string) {
	annotations := s.annotations()
	if !s.complete {
		annotations[views.AnnotationInitialEventsEnd] = "true"
	}
	s.complete, s.due = true, false
	line(s.out, views.Bookmark, bookmark(s.asked.kind(), s.identity.seal(token), annotations))
}

// end writes why the stream ends.
func (s *stream) end(no *refusal) string {
	if no.Code == http.StatusGone {
		s.stats.expired.Add(1)
	}
	text, _ := json.Marshal(no.Status) // nothing in it cannot be encoded
	_ = s.control.SetWriteDeadline(time.Now().Add(s.opts.Take))
	line(s.out, views.Error, text)
	_ = s.out.Flush() // a client that left misses nothing
	return no.Message
}
