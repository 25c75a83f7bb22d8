package lease_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// noteAnnotation is where other programs read the note.
const noteAnnotation = "endpoints.ablmnzde.github.io/note"

// notes are the holders and notes that a standby heard of, in order.
func (p *process) notes() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []string{}
	for _, s := range p.heard {
		all = append(all, s.Holder+":"+s.Note)
	}
	return all
}

// hears demands the last thing that a standby heard, without a wait.
func (p *process) hears(want string) {
	p.t.Helper()
	if all := p.notes(); len(all) == 0 || all[len(all)-1] != want {
		p.t.Errorf("%s heard %q, want %q last", p.client.who, all, want)
	}
}

func TestANoteIsReadWithTheEventThatItMakes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		standby.hears("one:")
		for i, text := range []string{"first", "second words", "third\nline", ""} {
			time.Sleep(lease.RetryPeriod - soon)
			if i%2 == 0 {
				time.Sleep(soon) // a renewal is just done
			}
			began := time.Now()
			leader.elector.Note(text)
			standby.hears("one:" + text)
			if got := standby.elector.State(); got.Note != text || got.Holder != "one" || time.Since(began) != 0 {
				t.Errorf("got %+v after %s, want the note %q at once", got, time.Since(began), text)
			}
			if got := leader.elector.State().Note; got != text {
				t.Errorf("the leader says %q, want %q", got, text)
			}
		}
		if got := len(standby.notes()); got != 5 {
			t.Errorf("heard %d times, want once of the holder and once of each note", got)
		}
	})
}

// TestContract242NotesMakeAtMostTenWritesASecond: and the newest one is always read soon.
func TestContract242NotesMakeAtMostTenWritesASecond(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		before := a.count("one", "update", "list", "create", "watch")
		for i := range 10_000 {
			leader.elector.Note(fmt.Sprint(i))
			time.Sleep(time.Millisecond)
			if i%1000 == 999 {
				time.Sleep(100 * time.Millisecond)
				standby.hears("one:" + fmt.Sprint(i))
			}
		}
		if got := a.count("one", "update", "list", "create", "watch") - before; got < 80 || got > 110+6 {
			t.Errorf("got %d requests in eleven seconds, want at most ten a second after five at once, and as many as are allowed", got)
		}
	})
}

// TestContract242AFewNotesWaitForNothing: an answer that comes too late is none.
func TestContract242AFewNotesWaitForNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		for i := range 5 {
			leader.elector.Note(fmt.Sprint(i))
			time.Sleep(10 * time.Millisecond)
			standby.hears("one:" + fmt.Sprint(i))
		}
	})
}

// TestContract242NothingIsWrittenAtRest: nothing but the renewals, also while a note stands.
func TestContract242NothingIsWrittenAtRest(t *testing.T) {
	for name, leave := range map[string]func(*lease.Elector){
		"no note":         func(*lease.Elector) {},
		"an empty note":   func(e *lease.Elector) { e.Note(""); e.NoteLater("") },
		"a note":          func(e *lease.Elector) { e.NoteLater("asked") },
		"the same again":  func(e *lease.Elector) { e.NoteLater("asked"); time.Sleep(3 * time.Second); e.Note("asked") },
		"a change of one": func(e *lease.Elector) { e.NoteLater("asked"); e.NoteLater("") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a, leader, standby := lead(t)
				others, all := []string{"list", "watch", "create"}, []string{"list", "watch", "create", "update"}
				other, two := a.count("one", others...), a.count("two", all...)
				leave(leader.elector)
				before := a.count("one", "update")
				time.Sleep(10 * time.Minute)
				// The clock of the machine goes on beside the simulated one (stopwatch): a slow run renews earlier.
				if got := a.count("one", "update") - before; got < 300 || got > 303 {
					t.Errorf("got %d writes of the leader in ten minutes, want 300 renewals", got)
				}
				if got := a.count("one", others...) - other; got != 0 {
					t.Errorf("got %d other requests of the leader, want none", got)
				}
				if got := a.count("two", all...) - two; got != 0 {
					t.Errorf("got %d requests of the standby, want none", got)
				}
				wantLeading(t, []*process{leader, standby}, leader)
			})
		})
	}
}

func TestALaterNoteRidesOnARenewal(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		before := a.count("one", "update")
		leader.elector.NoteLater("later")
		standby.hears("one:")
		time.Sleep(lease.RetryPeriod)
		standby.hears("one:later")
		if got := a.count("one", "update") - before; got != 1 {
			t.Errorf("got %d writes, want the renewal", got)
		}
		leader.elector.NoteLater("urgent")
		leader.elector.Note("urgent")
		time.Sleep(soon)
		standby.hears("one:urgent")
	})
}

func TestANoteIsGoneWithItsHolder(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		third := start(t, a, "three")
		leader.elector.Note("of one")
		time.Sleep(soon)
		third.hears("one:of one")
		standby.elector.Note("of a standby")
		leader.stop()
		within(t, linger+soon, "end", leader.ended)
		if got := a.get().Annotations[noteAnnotation]; got != "" {
			t.Errorf("the note %q is left", got)
		}
		time.Sleep(time.Minute)
		heir, other := standby, third
		if third.leading() {
			heir, other = third, standby
		}
		heir.hears(":")
		other.hears(heir.client.who + ":")
		if got := a.get().Annotations[noteAnnotation]; got != "" {
			t.Errorf("the new leader says %q, want that what a standby says is not kept", got)
		}
		heir.elector.Note("of the heir")
		time.Sleep(soon)
		// Where a leader dies, the next one drops its note.
		heir.client.set(func(string) outcome { return refused })
		other.hears(heir.client.who + ":of the heir")
		within(t, lease.LeaseDuration+lease.RetryPeriod, "lead", other.leading)
		if got := a.get().Annotations[noteAnnotation]; got != "" {
			t.Errorf("the note %q of a dead leader is left", got)
		}
		other.hears(":")
	})
}

// A holder of an older version keeps the annotations that it does not know.
func TestANoteOfAnotherHolderIsNone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		leader.elector.Note("of one")
		time.Sleep(soon)
		standby.hears("one:of one")
		note := a.get().Annotations
		for _, holder := range []string{"old", "", "of"} {
			a.change(func(*coordinationv1.Lease) *coordinationv1.Lease {
				l := held("old", time.Now())
				l.Annotations, l.Spec.HolderIdentity = note, &holder
				return l
			})
			standby.hears(holder + ":")
			if holder == "" {
				break // the standby takes it
			}
		}
		if got := a.get().Annotations[noteAnnotation]; got != "" || !standby.leading() {
			t.Errorf("the note %q is left", got)
		}
		leader.wantLost()
	})
}

func TestANoteHasABound(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		for size, want := range map[int]int{lease.MostNote: lease.MostNote, lease.MostNote + 1: 0, 10 * lease.MostNote: 0} {
			leader.elector.Note(strings.Repeat("x", size))
			time.Sleep(soon)
			if got := len(standby.elector.State().Note); got != want {
				t.Errorf("got a note of %d bytes, want %d", got, want)
			}
			if got := len(a.get().Annotations[noteAnnotation]); got > len("one ")+lease.MostNote {
				t.Errorf("%d bytes are written", got)
			}
		}
		a.change(func(l *coordinationv1.Lease) *coordinationv1.Lease {
			l.Annotations = map[string]string{noteAnnotation: "one " + strings.Repeat("x", lease.MostNote+1)}
			return l
		})
		if synctest.Wait(); standby.elector.State().Note != "" {
			t.Error("a longer note of another program is read")
		}
	})
}

// The Lease is renewed as ever, whatever becomes of the notes.
func TestContract29ANoteThatIsRefusedCostsNoRenewal(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		a.mu.Lock()
		a.refuses = func(l *coordinationv1.Lease) bool { return l.Annotations[noteAnnotation] != "" }
		a.mu.Unlock()
		before := a.count("one", "update", "list")
		for i := range 60_000 {
			if i%10 == 0 {
				leader.elector.Note(fmt.Sprint(i))
			}
			if left := leader.elector.Remaining(); left < lease.RenewDeadline-lease.RetryPeriod-soon {
				t.Fatalf("got %s left, want that the lease is renewed without the note", left)
			}
			time.Sleep(time.Millisecond)
		}
		if got := a.count("one", "update", "list") - before; got > 2*31 {
			t.Errorf("got %d requests in a minute, want two each two seconds at most", got)
		}
		a.mu.Lock()
		a.refuses = nil
		a.mu.Unlock()
		time.Sleep(2*lease.RetryPeriod + soon)
		standby.hears("one:59990")
		wantLeading(t, []*process{leader, standby}, leader)
	})
}

// TestContract242ANoteThatIsRefusedIsToldOnce: a policy may refuse it for as long as an endpoint is
// silent.
func TestContract242ANoteThatIsRefusedIsToldOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, _ := lead(t)
		refuse := func(refuses func(*coordinationv1.Lease) bool) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.refuses = refuses
		}
		refuse(func(l *coordinationv1.Lease) bool { return l.Annotations[noteAnnotation] != "" })
		before := len(leader.told())
		leader.elector.Note("asked")
		time.Sleep(10 * time.Minute)
		if told := leader.told()[before:]; len(told) != 1 || told[0].LastErr == nil || !told[0].Leading {
			t.Errorf("got %+v in ten minutes, want once that the note is refused", told)
		}
		refuse(nil)
		time.Sleep(2*lease.RetryPeriod + soon)
		if told := leader.told()[before:]; len(told) != 2 || told[1].LastErr != nil {
			t.Errorf("got %+v, want once that it is over", told)
		}
	})
}

func TestContract29ANoteWithoutAnAnswerCostsNoRenewal(t *testing.T) {
	for name, do := range map[string]outcome{"hanging": hanging, "lost": lost, "refused": refused} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				_, leader, standby := lead(t)
				once := true
				leader.client.set(func(verb string) outcome {
					if verb == "update" && once {
						once = false
						return do
					}
					return served
				})
				leader.elector.Note("asked")
				for range 120 {
					time.Sleep(100 * time.Millisecond)
					if left := leader.elector.Remaining(); left < 2*time.Second {
						t.Fatalf("got %s left, want that the lease is renewed in time", left)
					}
				}
				standby.hears("one:asked")
				if heard := standby.notes(); slices.Contains(heard, ":") {
					t.Errorf("heard %q, want no other leader", heard)
				}
				wantLeading(t, []*process{leader, standby}, leader)
			})
		})
	}
}

// TestContract29ANoteThatIsSwallowedCostsNoRenewal: where the path drops large packets, the small
// ones go through, also after another failure.
func TestContract29ANoteThatIsSwallowedCostsNoRenewal(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		a.mu.Lock()
		a.swallows = func(l *coordinationv1.Lease) bool { return l.Annotations[noteAnnotation] != "" }
		a.mu.Unlock()
		var updates atomic.Int32
		leader.client.set(func(verb string) outcome {
			if verb == "update" {
				updates.Add(1)
			}
			if updates.Load() == 2 {
				return refused
			}
			return served
		})
		leader.elector.Note("asked")
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if leader.elector.Remaining() == 0 {
				t.Fatal("the lease is lost for a note")
			}
		}
		wantLeading(t, []*process{leader, standby}, leader)
	})
}

// While the server is away the notes change nothing: the last renewal counts.
func TestContract29NotesProlongNothingWhileTheServerIsAway(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		leader.client.set(func(string) outcome { return refused })
		before, cut := a.count("one", "update"), time.Now()
		for i := 0; leader.elector.Remaining() > 0; i++ {
			leader.elector.Note(fmt.Sprint(i))
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(cut); took > lease.RenewDeadline {
			t.Errorf("it may write for %s, want at most %s", took, lease.RenewDeadline)
		}
		if got := a.count("one", "update") - before; got > 12 {
			t.Errorf("got %d writes in ten seconds, want about one a second", got)
		}
		within(t, lease.LeaseDuration, "lead", standby.leading)
		leader.wantLost()
	})
}
