package documents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// look is an object as the API server tells of it at one time.
type look struct {
	uid        string
	generation int
	// ports are those that the pool allows, want what becomes of it, and inEffect the ports
	// of the version that is in effect then.
	ports, want, inEffect string
}

// Contract 135: a lower generation of the same object is a restored backup, a higher one a
// decision, also where it is lower than one before.
func TestContract135AnObjectThatWentBackInTimeKeepsWhatWasInEffect(t *testing.T) {
	t.Parallel()
	const older, newer, other, wrong = "30080", "30081", "30082", "80-70"
	for name, looks := range map[string][]look{
		"restored, and decided anew": {
			{"u1", 7, newer, "Accepted", newer},
			{"u1", 3, older, "Outdated kept", newer},
			{"u1", 3, older, "Outdated kept", newer},
			{"u1", 4, older, "Accepted", older},
			{"u1", 5, other, "Accepted", other},
		},
		"restored, and brought back": {
			{"u1", 7, newer, "Accepted", newer},
			{"u1", 3, older, "Outdated kept", newer},
			{"u1", 4, newer, "Accepted", newer},
			{"u1", 5, older, "Accepted", older},
		},
		"restored with the same content": {
			{"u1", 7, newer, "Accepted", newer},
			{"u1", 3, newer, "Accepted", newer},
			{"u1", 4, older, "Accepted", older},
		},
		"restored twice": {
			{"u1", 7, newer, "Accepted", newer},
			{"u1", 3, older, "Outdated kept", newer},
			{"u1", 2, other, "Outdated kept", newer},
			{"u1", 3, other, "Accepted", other},
		},
		"deleted and made anew": {
			{"u1", 7, newer, "Accepted", newer},
			{"u2", 1, older, "Accepted", older},
		},
		"restored while it had a mistake": {
			{"u1", 7, newer, "Accepted", newer},
			{"u1", 8, wrong, "Invalid kept", newer},
			{"u1", 7, older, "Outdated kept", newer},
			{"u1", 8, older, "Accepted", older},
		},
		"restored to a mistake": {
			{"u1", 7, newer, "Accepted", newer},
			{"u1", 3, wrong, "Invalid kept", newer},
			{"u1", 3, older, "Outdated kept", newer},
			{"u1", 4, older, "Accepted", older},
		},
		"restored where nothing was in effect": {
			{"u1", 7, wrong, "Invalid unusable", ""},
			{"u1", 3, older, "Outdated unusable", ""},
			{"u1", 4, older, "Accepted", older},
		},
		"of the generation of another change": {
			{"u1", 7, newer, "Accepted", newer},
			{"u1", 7, older, "Accepted", older},
		},
		"seen first by a process that just began": {
			{"u1", 3, older, "Accepted", older},
		},
	} {
		set := documents.Set{}
		for i, l := range looks {
			d := applied(t, allowing(`"`+l.ports+`"`), l.generation)
			d.Object.UID = l.uid
			set = documents.AdvanceObjects(set, wide(), listed(d)...)
			got := reasons(set)
			for _, pool := range set.Pools() {
				got = append(got, pool.Spec.Allow[0].Ports...)
			}
			want := []string{"EndpointPool blue " + l.want}
			if l.inEffect != "" {
				want = append(want, l.inEffect)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: look %d (-want +got):\n%s", name, i, diff)
			}
		}
	}
}

// Contract 135: also a binding, and every surface has words for it.
func TestContract135AnOutdatedDocumentSaysWhatWasSeenAndWhatToDo(t *testing.T) {
	t.Parallel()
	before := documents.AdvanceObjects(documents.Set{}, wide(), listed(applied(t, allowing(`"30080"`), 1), applied(t, bindingOf(30080), 7))...)
	after := documents.AdvanceObjects(before, wide(), listed(applied(t, allowing(`"30080"`), 1), applied(t, bindingOf(30081), 3))...)
	if diff := cmp.Diff([]string{"EndpointBinding shop/web Outdated kept", "EndpointPool blue Accepted"}, reasons(after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if port := after.Bindings()[0].Spec.Ports[0].Port; port != 30080 {
		t.Errorf("got port %d, want the one that was in effect", port)
	}
	const want = "API server: EndpointBinding shop/web: came back with generation 3 after generation 7, as from a backup: the last version in effect stays; apply it as it should be; any change of its spec takes effect"
	if len(after.Mistakes) != 1 || after.Mistakes[0].Error() != want {
		t.Errorf("got %v, want %s", after.Mistakes, want)
	}
	if diff := cmp.Diff([]string{"Kept EndpointBinding shop/web"}, told(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Contract 135: an object that a restored API server does not have stays, until it has such
// an object again.
func TestContract135AnObjectThatARestoreTookAwayStays(t *testing.T) {
	t.Parallel()
	pool := applied(t, allowing(`"30080"`), 1)
	before := documents.AdvanceObjects(documents.Set{}, wide(), listed(pool)...)
	pool.Undone = true
	after := documents.AdvanceObjects(before, wide(), listed(pool)...)
	again := documents.AdvanceObjects(after, wide(), listed(pool)...)
	if diff := cmp.Diff([]string{"EndpointPool blue Outdated kept"}, reasons(again)); diff != "" || again.Generation != after.Generation {
		t.Errorf("got generation %d after %d (-want +got):\n%s", again.Generation, after.Generation, diff)
	}
	if len(again.Pools()) != 1 || len(again.Mistakes) != 1 || !strings.Contains(again.Mistakes[0].Error(), "EndpointPool blue: is not in the API server any more, whose state is an older one") {
		t.Errorf("got %v, mistakes %v", again.Pools(), again.Mistakes)
	}
	anew := applied(t, allowing(`"30081"`), 1)
	anew.Object.UID = "u2"
	if set := documents.AdvanceObjects(again, wide(), listed(anew)...); fmt.Sprint(reasons(set)) != "[EndpointPool blue Accepted]" || len(set.Mistakes) > 0 {
		t.Errorf("got %v, mistakes %v", reasons(set), set.Mistakes)
	}
}
