package explain_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// Contract 171: what is sent again and stored otherwise again is announced once, until it is
// over or the difference is another one.
func TestContract171StoredOtherwiseIsAnnouncedOnceForEachState(t *testing.T) {
	t.Parallel()
	var memory explain.ServiceStory
	tell := func(slice, why string) (notices []string) {
		o := writer.Outcome{Results: []writer.Result{{Write: publish.Write{Slice: publish.Slice{Name: slice}}}}}
		if why != "" {
			o.WriteErr = fmt.Errorf("%w: %s", publish.ErrStoredOtherwise, why)
			o.Results[0].Err = o.WriteErr
		}
		var story explain.Story
		memory, story = memory.Tell(o)
		for _, n := range story.Notices {
			if n.Reason == explain.StoredOtherwise {
				notices = append(notices, slice+" "+why)
			}
		}
		return notices
	}
	var got []string
	for _, step := range [][2]string{{"a", "ready"}, {"a", "ready"}, {"b", "ready"}, {"a", "ready"}, {"a", "labels"}, {"a", "labels"}, {"a", ""}, {"a", "labels"}, {"a", "labels"}} {
		got = append(got, tell(step[0], step[1])...)
	}
	want := []string{"a ready", "b ready", "a labels", "a labels"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("announced (-want +got):\n%s", diff)
	}
}
