package publish

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The ownerReference lets the garbage collector remove the slices with their
// Service. It is a plain one: blockOwnerDeletion, and with it
// metav1.NewControllerRef, is refused on clusters that enforce owner references
// unless we may update services/finalizers.

// ownsSlice reports whether the reference names the target's Service, of
// whatever UID: one with another UID is left over from an earlier Service.
func ownsSlice(reference metav1.OwnerReference, target Target) bool {
	return reference.APIVersion == "v1" && reference.Kind == "Service" && reference.Name == target.Service
}

// toOwner returns the UID in the reference to the target's Service, empty when
// there is none. Whether it is the UID of today's Service is for Diff.
func toOwner(references []metav1.OwnerReference, target Target, found *drift) string {
	var owners []string
	for _, reference := range references {
		if !ownsSlice(reference, target) {
			continue
		}
		owners = append(owners, string(reference.UID))
		if ptr.Deref(reference.Controller, false) {
			found.add("the ownerReference to Service %s has controller=true", target.Service)
		}
		if ptr.Deref(reference.BlockOwnerDeletion, false) {
			found.add("the ownerReference to Service %s has blockOwnerDeletion=true", target.Service)
		}
	}
	if len(owners) != 1 {
		found.add("%d ownerReferences to Service %s instead of one", len(owners), target.Service)
	}
	if len(owners) == 0 {
		return ""
	}
	return owners[0]
}

// withOwner returns the references with exactly one to the target's Service, at
// the place where the first one stood. The others stay.
func withOwner(references []metav1.OwnerReference, uid string, target Target) []metav1.OwnerReference {
	ours := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: target.Service, UID: types.UID(uid)}
	out := make([]metav1.OwnerReference, 0, len(references)+1)
	placed := false
	for _, reference := range references {
		switch {
		case !ownsSlice(reference, target):
			out = append(out, reference)
		case !placed:
			out, placed = append(out, ours), true
		}
	}
	if !placed {
		out = append(out, ours)
	}
	return out
}
