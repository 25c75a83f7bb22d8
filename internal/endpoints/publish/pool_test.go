package publish_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// The label tells after a restart which pool filled the slice. A slice that was taken
// over gets it with its next change, so that moving to documents writes nothing.
func TestTheSlicesOfAPoolHaveItsLabel(t *testing.T) {
	own := target()
	own.Pool, own.SliceName = "blue", "web.blue"
	adopted := target()
	adopted.Pool = "blue"
	write := update(slice())
	write.Slice.Name = own.SliceName
	object := publish.Apply(nil, write, own)
	if got := object.Labels[publish.LabelPool]; got != "blue" {
		t.Fatalf("got label %q, want blue", got)
	}
	if read, _ := publish.ToSlice(object, own); read.Drift != "" {
		t.Errorf("what we write has drift: %s", read.Drift)
	}
	delete(object.Labels, publish.LabelPool)
	if read, _ := publish.ToSlice(object, own); read.Drift == "" {
		t.Error("a slice without the label has no drift")
	}
	object.Name = adopted.SliceName
	if read, _ := publish.ToSlice(object, adopted); read.Drift != "" {
		t.Errorf("a slice that was taken over has drift: %s", read.Drift)
	}
}
