package stream

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// refusal is an answer without objects.
type refusal struct{ views.Status }

func refuse(code int, reason, format string, args ...any) *refusal {
	return &refusal{views.Status{
		Kind: "Status", APIVersion: "v1", Status: "Failure", Code: code, Reason: reason, Message: fmt.Sprintf(format, args...),
	}}
}

// after adds when to ask again, in seconds.
func (r *refusal) after(seconds int) *refusal {
	r.Details = &views.StatusDetails{RetryAfterSeconds: seconds}
	return r
}

// refused turns what the cache says into an answer. Clients count 503 and give a token up in
// the end, so only a replica that is current says that it is behind.
func refused(err error) *refusal {
	switch {
	case errors.Is(err, cache.ErrExpired):
		return refuse(http.StatusGone, "Expired", "the changes since that resourceVersion are not known here any more; ask again without one")
	case errors.Is(err, cache.ErrToken):
		return refuse(http.StatusBadRequest, "BadRequest", "resourceVersion %v; give the newest one of a list or a stream, or none", err)
	case errors.Is(err, cache.ErrBehind):
		return refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "%v; ask again, or another replica", err).after(1)
	}
	return refuse(http.StatusGatewayTimeout, "Timeout", "%v; ask again, or another replica", err).after(1)
}

// write answers with the refusal.
func (r *refusal) write(w http.ResponseWriter) {
	if r.Details != nil {
		w.Header().Set("Retry-After", strconv.Itoa(r.Details.RetryAfterSeconds))
	}
	if r.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Code)
	text, _ := json.Marshal(r.Status)  // nothing in it cannot be encoded
	_, _ = w.Write(append(text, '\n')) // a client that left misses nothing
}

// line writes one event of a stream; the writer keeps the first error.
func line(out *bufio.Writer, kind views.EventType, object []byte) {
	_, _ = out.WriteString(`{"type":"`)
	_, _ = out.WriteString(string(kind))
	_, _ = out.WriteString(`","object":`)
	_, _ = out.Write(object)
	_, _ = out.WriteString("}\n")
}

// bookmark is the object of a bookmark.
func bookmark(kind, token string, annotations map[string]string) []byte {
	text, _ := json.Marshal(struct {
		APIVersion string             `json:"apiVersion"`
		Kind       string             `json:"kind"`
		Metadata   views.ListMetadata `json:"metadata"`
	}{views.APIVersion, kind, views.ListMetadata{ResourceVersion: token, Annotations: annotations}})
	return text
}

// list writes a list.
func list(out *bufio.Writer, kind string, metadata views.ListMetadata, objects []cache.Event) {
	about, _ := json.Marshal(metadata)
	_, _ = fmt.Fprintf(out, `{"apiVersion":%q,"kind":%q,"metadata":%s,"items":[`, views.APIVersion, kind+"List", about)
	for i, object := range objects {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(object.Object())
	}
	_, _ = out.WriteString("]}\n")
}
