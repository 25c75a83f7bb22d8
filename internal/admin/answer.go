package admin

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

// worthPacking is from how many bytes on an answer is compressed.
const worthPacking = 1 << 10

// answer sends what render makes.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, contentType string, render func() ([]byte, error)) {
	if !s.sending.enter(r.Context()) {
		busy(w)
		return
	}
	defer s.sending.leave()
	s.send(w, r, contentType, render)
}

// show sends what render makes of the document, which is the leader's where another
// replica leads. A leader that does not answer holds no place where things are made.
func (s *Server) show(w http.ResponseWriter, r *http.Request, contentType string, render func(*report.Document) ([]byte, error)) {
	if !s.sending.enter(r.Context()) {
		busy(w)
		return
	}
	defer s.sending.leave()
	d, err := s.opts.Leader(r.Context())
	s.send(w, r, contentType, func() ([]byte, error) {
		if d == nil {
			d = s.document()
		}
		if err != nil {
			d.WithoutLeader(err)
		}
		return render(d)
	})
}

// send sends what render makes. It is made as a whole first, so that a slow reader
// holds memory, which is bounded, and never a place where things are made.
func (s *Server) send(w http.ResponseWriter, r *http.Request, contentType string, render func() ([]byte, error)) {
	if !s.rendering.enter(r.Context()) {
		busy(w)
		return
	}
	text, err := render()
	packs := err == nil && len(text) >= worthPacking && acceptsGzip(r.Header)
	if packs {
		text, err = packed(text)
	}
	s.rendering.leave()
	if err != nil {
		s.opts.Logger.Error("cannot render an answer", "path", r.URL.Path, "error", err)
		http.Error(w, "the answer cannot be rendered; the log says why", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(text)))
	header.Set("Vary", "Accept-Encoding")
	if packs {
		header.Set("Content-Encoding", "gzip")
	}
	_, _ = w.Write(text) // a client that went away misses nothing
}

// busy asks to come again.
func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", retryAfter)
	http.Error(w, "too many requests at once; try again in "+retryAfter+" s", http.StatusServiceUnavailable)
}

// acceptsGzip reports whether the client takes gzip.
func acceptsGzip(header http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		_, value, _ := strings.Cut(weight, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return err != nil || q > 0
	}
	return false
}

// packed compresses, fast rather than well.
func packed(text []byte) ([]byte, error) {
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := packer.Write(text); err != nil {
		return nil, err
	}
	err = packer.Close()
	return out.Bytes(), err
}
