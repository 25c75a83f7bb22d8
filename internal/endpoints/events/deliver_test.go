package events_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestANoticeBecomesAnEventOfItsOwnOnTheService(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		at := time.Now()
		w.Announce(explain.Notice{Reason: explain.EndpointsUpdated, Note: "1 of 1 endpoints ready", Service: "uid-1",
			Lists: []explain.List{{Name: "added", Items: []string{"10.0.0.1 (ready)"}}}})
		w.Announce(explain.Notice{Reason: explain.RemovalHeld, Note: "NoNodes: nothing listed", Service: "uid-1"})
		during(time.Second)
		got := w.api.events()
		if len(got) != 2 {
			t.Fatalf("got %d Events, want 2", len(got))
		}
		want := &eventsv1.Event{
			ObjectMeta:          metav1.ObjectMeta{Namespace: "default", Name: got[0].Name},
			EventTime:           metav1.NewMicroTime(at),
			ReportingController: "ionos-endpointslice-controller", ReportingInstance: "pod-1",
			Action: "Write", Reason: "EndpointsUpdated", Type: "Normal",
			Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "web", UID: "uid-1"},
			Note:      "1 of 1 endpoints ready; added 10.0.0.1 (ready)",
		}
		got[0].TypeMeta, got[0].EventTime = metav1.TypeMeta{}, metav1.NewMicroTime(got[0].EventTime.UTC())
		want.EventTime = metav1.NewMicroTime(at.UTC().Truncate(time.Microsecond))
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("Event (-want +got):\n%s", diff)
		}
		if !strings.HasPrefix(got[0].Name, "web.") || got[0].Name == got[1].Name {
			t.Errorf("got names %q and %q, want two of the Service", got[0].Name, got[1].Name)
		}
		if got[1].Type != "Warning" || got[1].Reason != "RemovalHeld" || got[1].Action != "Guard" {
			t.Errorf("got %+v, want a warning of the guard", got[1])
		}
		if got := len(w.api.requests()); got != 2 {
			t.Errorf("got %d requests, want 2: two notices of one moment have names of their own", got)
		}
		w.wantCounts(2, 0)
		w.wantTroubles(0)
		if p := w.api.requests()[0].path; p != "POST /apis/events.k8s.io/v1/namespaces/default/events" {
			t.Errorf("got request %q", p)
		}
	})
}

func TestEveryEventOfOneReasonKeepsItsNote(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, note := range []string{"a", "b", "c"} {
			w.Announce(updated(note))
		}
		during(time.Minute)
		notes := ""
		for _, e := range w.api.events() {
			notes += e.Note
		}
		if notes != "abc" {
			t.Errorf("got notes %q, want a, b and c in order", notes)
		}
	})
}

func TestAnEventIsSentAgainWhereThatMayHelp(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusUnauthorized} {
		inWorld(t, func(t *testing.T, w *world) {
			w.api.answer = func(attempt int, _ *eventsv1.Event) (int, string) {
				if attempt < 4 {
					return status, ""
				}
				return 0, ""
			}
			w.Announce(updated("a"))
			during(time.Minute)
			if len(w.api.events()) != 1 || len(w.api.requests()) != 4 {
				t.Errorf("%d: got %d Events after %d attempts, want one after 4", status, len(w.api.events()), len(w.api.requests()))
			}
			for i, try := range w.api.requests()[1:] {
				pause, longest := try.at.Sub(w.api.requests()[i].at), time.Second<<i
				if try.name != w.api.requests()[0].name || pause < longest/2 || pause > longest+time.Millisecond {
					t.Errorf("%d: got attempt %d of %s after %v, want the same Event after %v to %v", status, i+2, try.name, pause, longest/2, longest)
				}
			}
			w.wantCounts(1, 0)
			w.wantTroubles(0)
		})
	}
}

func TestAnEventIsGivenUpWhereNothingHelps(t *testing.T) {
	tests := []struct{ status, attempts int }{
		{http.StatusForbidden, 1}, {http.StatusUnprocessableEntity, 1}, {http.StatusNotFound, 1}, {http.StatusServiceUnavailable, 6},
	}
	for _, test := range tests {
		inWorld(t, func(t *testing.T, w *world) {
			w.api.answer = func(int, *eventsv1.Event) (int, string) { return test.status, "" }
			w.Announce(updated("a"))
			during(2 * time.Minute)
			if got := len(w.api.requests()); got != test.attempts {
				t.Errorf("%d: got %d attempts, want %d", test.status, got, test.attempts)
			}
			w.wantCounts(0, 1)
			w.wantTroubles(1)
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.api.answer = func(attempt int, _ *eventsv1.Event) (int, string) {
			return []int{http.StatusTooManyRequests, 0}[min(attempt-1, 1)], "20"
		}
		w.Announce(updated("a"))
		during(19 * time.Second)
		if got := len(w.api.requests()); got != 1 {
			t.Fatalf("got %d attempts within 19 s, want 1: the server asked for 20", got)
		}
		during(2 * time.Second)
		w.wantCounts(1, 0)
	})
}

func TestALostAnswerMakesNoSecondEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.api.lost = func(attempt int) bool { return attempt == 1 }
		w.Announce(updated("a"))
		during(time.Minute)
		if len(w.api.events()) != 1 || len(w.api.requests()) != 2 {
			t.Errorf("got %d Events after %d attempts, want one after two", len(w.api.events()), len(w.api.requests()))
		}
		w.wantCounts(1, 0)
	})
}

func TestANameThatIsTakenIsReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.api.answer = func(attempt int, _ *eventsv1.Event) (int, string) {
			return []int{http.StatusConflict, 0}[min(attempt-1, 1)], ""
		}
		w.Announce(updated("a"))
		during(time.Second)
		if len(w.api.events()) != 1 || w.api.requests()[0].name == w.api.requests()[1].name {
			t.Errorf("got attempts %v, want a second one under another name", w.api.requests())
		}
		w.wantCounts(1, 0)
	})
	inWorld(t, func(t *testing.T, w *world) {
		w.api.answer = func(int, *eventsv1.Event) (int, string) { return http.StatusConflict, "" }
		w.Announce(updated("a"))
		during(time.Minute)
		if got := len(w.api.requests()); got > 6 {
			t.Errorf("got %d attempts where every name is taken, want at most 6", got)
		}
		w.wantCounts(0, 1)
	})
}

func TestAMissingRightIsToldOnceWithTheRemedyAndSoIsItsEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.api.answer = func(int, *eventsv1.Event) (int, string) { return http.StatusForbidden, "" }
		for range 3 {
			w.Announce(updated("a"))
			during(time.Minute)
		}
		err := w.wantTroubles(1)[0]
		for _, want := range []string{"create events of events.k8s.io", "namespace default", "Role"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %q, want it to say %q", err, want)
			}
		}
		w.api.set(func() { w.api.answer = nil })
		w.Announce(updated("b"))
		during(time.Minute)
		if err := w.wantTroubles(2)[1]; err != nil {
			t.Errorf("got trouble %v, want its end", err)
		}
		if got, want := w.api.events()[0].Note, "b; 3 Events of this reason were left out before"; got != want {
			t.Errorf("got note %q, want %q", got, want)
		}
		w.wantCounts(1, 3)
	})
}

func TestANamespaceThatIsBeingDeletedIsNoMatterOfRights(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.api.answer, w.api.cause = func(int, *eventsv1.Event) (int, string) { return http.StatusForbidden, "" }, "NamespaceTerminating"
		w.Announce(updated("a"))
		during(time.Minute)
		if err := w.wantTroubles(1)[0]; strings.Contains(err.Error(), "right") {
			t.Errorf("got %q, want nothing of rights", err)
		}
	})
}

func TestAFullQuotaIsNoMatterOfRights(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.api.answer, w.api.cause = func(int, *eventsv1.Event) (int, string) { return http.StatusForbidden, "" }, "exceeded quota: few, requested: count/events.events.k8s.io=1"
		w.Announce(updated("a"))
		during(time.Minute)
		if err := w.wantTroubles(1)[0]; strings.Contains(err.Error(), "the right") {
			t.Errorf("got %q, want nothing of rights", err)
		}
	})
}

// TestContract36ANamespaceWithoutEventsDelaysNoOther: a webhook of one namespace is down, or hangs.
// That is told once, and so is the end.
func TestContract36ANamespaceWithoutEventsDelaysNoOther(t *testing.T) {
	for name, trouble := range map[string]func(*api){
		"fails": func(a *api) {
			a.answer = func(_ int, e *eventsv1.Event) (int, string) {
				return map[string]int{"evil": http.StatusInternalServerError}[e.Namespace], ""
			}
		},
		"hangs": func(a *api) { a.hangs = "evil" },
		"refuses": func(a *api) {
			a.answer = func(_ int, e *eventsv1.Event) (int, string) {
				return map[string]int{"evil": http.StatusForbidden}[e.Namespace], ""
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.api.set(func() { trouble(w.api) })
				evil := w.About("evil", "web")
				for round := range 5 {
					for range 3 {
						evil.Announce(updated("a"))
					}
					w.Announce(updated("b"))
					during(10 * time.Second)
					if got := len(w.api.events()); got != round+1 {
						t.Errorf("got %d Events of the other namespace after 10 s, want %d", got, round+1)
					}
				}
				during(5 * time.Minute)
				w.wantTroubles(1)
				w.api.set(func() { w.api.answer, w.api.hangs = nil, "" })
				evil.Announce(updated("a"))
				during(time.Minute)
				if err := w.wantTroubles(2)[1]; err != nil || len(w.api.events()) != 6 {
					t.Errorf("got %d Events, and trouble %v, want its end", len(w.api.events()), err)
				}
			})
		})
	}
}

// TestContract36NoNamespaceWaitsForThePauseOfAnother: also where both have an Event that failed.
func TestContract36NoNamespaceWaitsForThePauseOfAnother(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		failed := false
		w.api.answer = func(_ int, e *eventsv1.Event) (int, string) {
			switch {
			case e.Namespace == "evil":
				return http.StatusServiceUnavailable, "3600"
			case !failed:
				failed = true
				return http.StatusServiceUnavailable, ""
			}
			return 0, ""
		}
		evil := w.About("evil", "web")
		evil.Announce(updated("a"))
		evil.Announce(updated("b"))
		during(time.Second)
		w.Announce(updated("c"))
		during(5 * time.Second)
		if got := len(w.api.events()); got != 1 {
			t.Errorf("got %d Events of the other namespace after 5 s, want 1", got)
		}
		w.api.set(func() { w.api.answer = nil })
		during(2 * time.Minute)
		if got := w.api.events(); len(got) != 3 || !slices.IsSortedFunc(got[1:], func(a, b *eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) }) {
			t.Errorf("got %d Events in the end, want 3, those of a namespace in their order", len(got))
		}
	})
}

func TestALongNameOfTheProcessIsCut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorldOf(t, strings.Repeat("pod-", 60))
		w.start()
		w.Announce(updated("a"))
		during(time.Second)
		if got := w.api.events()[0].ReportingInstance; len(got) > 128 || !strings.HasPrefix(got, "pod-pod-") {
			t.Errorf("got %q, want at most 128 bytes of it", got)
		}
		w.stop()
	})
}

func TestAnotherTroubleIsToldAsWell(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i, status := range []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusForbidden, http.StatusForbidden} {
			w.api.set(func() { w.api.answer = func(int, *eventsv1.Event) (int, string) { return status, "" } })
			w.Announce(updated("a"))
			during(2 * time.Minute)
			w.wantTroubles(1 + i/2)
		}
	})
}
