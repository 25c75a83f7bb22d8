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
	// notePace is the least time between two writes for notes, but for a few at once.
	notePace, notesAtOnce = 100 * time.Millisecond, 5
)

// Note says what the Lease tells the standbys while this process leads: at once, but no more
// than ten notes a second after the first five. An empty text removes the note, and so does
// one that is longer than MostNote. A note that cannot be written waits for a renewal that can.
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

// takeNote returns the note that is to be written, none where it is left out. Nothing is due
// from then on.
func (e *Elector) takeNote(leftOut bool) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.news:
	default:
	}
	if leftOut {
		return ""
	}
	return e.note
}

// schedule is when the Lease is written next.
type schedule struct {
	// pause is until the renewal, quiet for how long no note is written before it.
	pause, quiet time.Duration
	// news, if set, ends the pause.
	news <-chan struct{}
	// refused is why the write is without the note: the last one with it failed, which may
	// be its fault. It is told until a note is written, or none is to be.
	refused error
}

// due waits for the next write, for as long as the Lease is held at most. It reports whether
// ctx has not ended by then.
func (s schedule) due(ctx context.Context, remaining time.Duration) bool {
	pause := min(s.pause, remaining)
	quiet := min(pause, s.quiet)
	if !kube.Wait(ctx, quiet) {
		return false
	}
	timer := time.NewTimer(pause - quiet)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.news:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// schedule is what follows a write. One without the note is followed by a renewal in its own
// time, which tries the note again.
func (e *Elector) schedule(before schedule, pause time.Duration, noted bool) schedule {
	after := schedule{pause: pause, news: e.news}
	if before.refused != nil {
		after.news = nil
	}
	if noted {
		after.quiet = e.notes.Reserve().Delay()
	}
	return after
}

// afterFailure is what follows a write that failed. One that the server refused, maybe for its
// note, is tried at once without it.
func (s schedule) afterFailure(note string, err error) schedule {
	after := schedule{pause: RetryPeriod / 2}
	if s.refused != nil || note != "" {
		after.refused = err
	}
	if note != "" && answered(err) {
		after.pause = 0
	}
	return after
}

// annotate writes a text of that holder into an annotation of the Lease.
func annotate(lease *coordinationv1.Lease, annotation, holder, text string) {
	if text != "" {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, annotation, holder+" "+text)
	}
}

// annotated is the text that this holder wrote there.
func annotated(lease *coordinationv1.Lease, annotation, holder string) string {
	text, own := strings.CutPrefix(lease.Annotations[annotation], holder+" ")
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
