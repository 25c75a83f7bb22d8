package views_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// reader reads lines of a stream, and notes when which came. It decodes as little as
// it can, to leave the machine to what is measured.
type reader struct {
	// lines counts the lines about an endpoint, last is when the newest line arrived.
	lines, last atomic.Int64
	// ready is the newest state that was reported.
	ready atomic.Bool
	done  chan struct{}
}

// read follows a stream until it ends.
func read(stream io.Reader) *reader {
	r := &reader{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		in := bufio.NewScanner(stream)
		in.Buffer(make([]byte, 0, 64<<10), 1<<20)
		for in.Scan() {
			line := in.Bytes()
			if bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)) {
				continue
			}
			r.ready.Store(bytes.Contains(line, []byte(`"state":"ready"`)))
			r.last.Store(time.Now().UnixNano())
			r.lines.Add(1)
		}
	}()
	return r
}

// after is how long after a moment the newest line came.
func (r *reader) after(moment time.Time) time.Duration {
	return time.Duration(r.last.Load() - moment.UnixNano())
}

// open opens so many streams, and returns when each has sent the state at the
// beginning.
func (w *world) open(t *testing.T, count, endpoints int) (readers []*reader, end func()) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var bodies []io.Closer
	for range count {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/v1/views?watch=true", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusOK {
			t.Fatal(response.Status)
		}
		bodies = append(bodies, response.Body)
		readers = append(readers, read(response.Body))
	}
	await(t, readers, int64(endpoints))
	return readers, func() {
		for i, body := range bodies {
			_ = body.Close()
			<-readers[i].done
		}
	}
}

// await returns when each reader has read so many lines in all.
func await(t *testing.T, readers []*reader, lines int64) {
	t.Helper()
	for end := time.Now().Add(longest); ; time.Sleep(time.Millisecond) {
		least := readers[0].lines.Load()
		for _, r := range readers {
			least = min(least, r.lines.Load())
		}
		if least >= lines {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("a reader has read %d lines after %v, want %d", least, longest, lines)
		}
	}
}
