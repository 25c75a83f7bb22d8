package events_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
)

// noteOf returns the note that the server gets.
func noteOf(t *testing.T, notice explain.Notice) string {
	t.Helper()
	note := ""
	inWorld(t, func(_ *testing.T, w *world) {
		w.Announce(notice)
		during(time.Second)
		note = w.api.events()[0].Note
	})
	return note
}

// addresses returns n items as the engine makes them.
func addresses(n int) []string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf("10.0.%d.%d (ready)", i/256, i%256))
	}
	return items
}

func TestALongListIsCutBetweenItsItemsAndSaysHowManyAreMissing(t *testing.T) {
	for _, sizes := range [][2]int{{1, 0}, {54, 0}, {55, 0}, {56, 0}, {5000, 0}, {3, 5000}, {5000, 5000}} {
		notice := updated(fmt.Sprintf("%d of 9999 endpoints ready", sizes[0]))
		names := []string{"added", "changed"}
		for i, n := range sizes {
			if n > 0 {
				notice.Lists = append(notice.Lists, explain.List{Name: names[i], Items: addresses(n)})
			}
		}
		note := noteOf(t, notice)
		if len(note) > 1024 {
			t.Errorf("%v: got %d bytes, want at most 1024", sizes, len(note))
		}
		parts := strings.Split(note, "; ")
		if parts[0] != notice.Note || len(parts) != 1+len(notice.Lists) {
			t.Fatalf("%v: got %q, want the note and each list", sizes, note)
		}
		more := regexp.MustCompile(` \.\.\. and (\d+) more$`)
		for i, list := range notice.Lists {
			text, missing := strings.TrimPrefix(parts[i+1], list.Name+" "), 0
			if found := more.FindStringSubmatch(text); found != nil {
				missing, _ = strconv.Atoi(found[1])
				text = strings.TrimSuffix(text, found[0])
			}
			shown := strings.Split(text, ", ")
			if len(shown)+missing != len(list.Items) {
				t.Errorf("%v: %s: got %d items and %d more, want %d in all", sizes, list.Name, len(shown), missing, len(list.Items))
			}
			for j, item := range shown {
				if item != list.Items[j] {
					t.Errorf("%v: got item %q, want %q", sizes, item, list.Items[j])
				}
			}
		}
		if room := 1024 - len(note); sizes[0] > 100 && room > 2*len(", 10.0.10.100 (ready)") {
			t.Errorf("%v: got %d bytes unused, want as many items as fit", sizes, room)
		}
	}
}

func TestEveryItemIsShownOrCounted(t *testing.T) {
	for n := 1; n < 120; n++ {
		notice := updated("a")
		notice.Lists = []explain.List{{Name: "added", Items: addresses(n)}}
		note := events.Note(notice, 0)
		shown, missing := strings.Count(note, "(ready)"), 0
		if at := strings.Index(note, " ... and "); at >= 0 {
			_, err := fmt.Sscanf(note[at:], " ... and %d more", &missing)
			if err != nil {
				t.Errorf("%d: got %q", n, note)
			}
		}
		if shown+missing != n || len(note) > 1024 {
			t.Errorf("got %d items and %d more in %d bytes, want %d in all", shown, missing, len(note), n)
		}
	}
}

func TestALongTextIsCutAtASpace(t *testing.T) {
	text := strings.Repeat("dial tcp 10.0.0.11:443 refusé, ", 60)
	note := noteOf(t, updated(text))
	if len(note) > 1024 || len(note) < 900 || !utf8.ValidString(note) || !strings.HasSuffix(note, " ...") {
		t.Errorf("got %d bytes, %q, want at most 1024 that end in dots", len(note), note)
	}
	kept := strings.TrimSuffix(note, " ...")
	if !strings.HasPrefix(text, kept+" ") {
		t.Errorf("got %q, want whole words", kept)
	}
}

func TestWhatForeignHandsWroteIsMadeHarmless(t *testing.T) {
	if got, want := noteOf(t, updated("read \x1b[31mred\r\nline\xff")), "read  [31mred  line\uFFFD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnyNoteFits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		notice := updated(strings.Repeat(rapid.String().Draw(r, "note"), rapid.IntRange(0, 100).Draw(r, "times")))
		for range rapid.IntRange(0, 3).Draw(r, "lists") {
			items := rapid.SliceOfN(rapid.StringN(1, 20, 40), 1, 300).Draw(r, "items")
			notice.Lists = append(notice.Lists, explain.List{Name: "added", Items: items})
		}
		if note := events.Note(notice, rapid.IntRange(0, 1_000_000).Draw(r, "left out")); len(note) > 1024 || !utf8.ValidString(note) {
			r.Errorf("got %d bytes, %q, want at most 1024 of valid text", len(note), note)
		}
	})
}
