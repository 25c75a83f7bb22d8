package ionostest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"
)

// garble answers 200, or 204, and less than a whole document.
func (f Fault) garble(w http.ResponseWriter, r *http.Request, right http.Handler) {
	whole := httptest.NewRecorder()
	right.ServeHTTP(whole, r)
	body := whole.Body.Bytes()
	w.Header().Set("Content-Type", "application/json")
	switch f.Kind {
	case NoItems, Incomplete:
		field := "items"
		if f.Kind == Incomplete {
			field = cmp.Or(f.Lacks, "items.properties")
		}
		var document object
		_ = json.Unmarshal(body, &document) // it is our own
		remove(document, strings.Split(field, "."))
		body, _ = json.Marshal(document)
	case Null:
		body = []byte("null")
	case Empty:
		body = nil
	case NoContent:
		w.WriteHeader(http.StatusNoContent)
		return
	case Cut:
		body = body[:len(body)/2]
	case HTML:
		w.Header().Set("Content-Type", "text/html")
		body = []byte("<html><body>Please log in</body></html>")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client is gone
}

// remove removes the field at that place from the first document that has it,
// and reports whether there was one.
func remove(value any, place []string) bool {
	switch value := value.(type) {
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return remove(item, place) })
	case object:
		inner, there := value[place[0]]
		if there && len(place) == 1 {
			delete(value, place[0])
			return true
		}
		return there && remove(inner, place[1:])
	}
	return false
}

// stall answers too late, too much, or not to the end.
func (f Fault) stall(w http.ResponseWriter, r *http.Request, right http.Handler) {
	switch f.Kind {
	case Slow:
		var enough <-chan time.Time
		if f.Delay > 0 {
			timer := time.NewTimer(f.Delay)
			defer timer.Stop()
			enough = timer.C
		}
		select {
		case <-r.Context().Done():
		case <-enough:
			right.ServeHTTP(w, r)
		}
	case Dropped:
		panic(http.ErrAbortHandler)
	case Truncated:
		whole := httptest.NewRecorder()
		right.ServeHTTP(whole, r)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		panic(http.ErrAbortHandler)
	case Huge:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items": [`))
		filler := bytes.Repeat([]byte(" "), 1<<20)
		for range 40 {
			if _, err := w.Write(filler); err != nil {
				return
			}
		}
		_, _ = w.Write([]byte(`]}`))
	}
}
