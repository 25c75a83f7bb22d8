package lease

import (
	"context"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// noteAnnotation is what the holder tells the standbys: its identity, a space, and the text. A
// holder of an older version keeps the annotation of the one before, so a note without the
// identity of the holder is none.
const noteAnnotation = "endpoints.ablmnzde.github.io/note"

const (
	// MostNote is how many bytes a note has at most. The annotations of an object have 256 KiB.
	MostNote = 64 << 10
	// notePace is the least time between a write of the Lease and one for a note.
	notePace = 100 * time.Millisecond
)

// Note says what the Lease tells the standbys while this process leads: at once, but not
// sooner than 100 ms after the last write. An empty text removes the note, and so does one
// that is longer than MostNote. A note that cannot be written waits for a renewal that can.
func (e *Elector) Note(text string) { e.setNote(text, true) }

// NoteLater is Note with the next renewal.
func (e *Elector) NoteLater(text string) { e.setNote(text, false) }

func (e *Elector) setNote(text string, now bool) {
	if len(text) > MostNote {
		text = ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.state.Leading {
		return
	}
	changed := text != e.note || text != e.state.Note
	if e.note = text; now && changed {
		kube.Signal(e.news)
	}
}

// takeNote returns the note that is to be written. Nothing is due from then on.
func (e *Elector) takeNote() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.news:
	default:
	}
	return e.note
}

// due waits for the next renewal, or for news, which cannot come sooner than notePace. It reports
// whether ctx has not ended by then.
func due(ctx context.Context, pause time.Duration, news <-chan struct{}) bool {
	first := min(pause, notePace)
	if !kube.Wait(ctx, first) {
		return false
	}
	timer := time.NewTimer(pause - first)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-news:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// annotate writes a note of that holder into the Lease.
func annotate(lease *coordinationv1.Lease, holder, text string) {
	if text != "" {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, noteAnnotation, holder+" "+text)
	}
}

// noteOf is the note that this holder wrote.
func noteOf(lease *coordinationv1.Lease, holder string) string {
	text, own := strings.CutPrefix(lease.Annotations[noteAnnotation], holder+" ")
	if !own || holder == "" || len(text) > MostNote {
		return ""
	}
	return text
}

// tell tells a standby of the holder and its note, unless they are as before.
func (c *candidate) tell(now State) {
	if now.Holder != c.told.Holder || now.Note != c.told.Note {
		c.told = now
		c.opts.Noted(now)
	}
}
