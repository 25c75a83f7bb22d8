package apiserver

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// summary is what is kept of the status that an object has: enough to see whether another one
// differs, and since when its conditions are as they are. The texts of 1,000 objects would
// be memory.
type summary struct {
	digest digest
	since  []transition
}

// digest tells one status from another.
type digest [sha256.Size / 2]byte

// digestOf is that of a status as JSON.
func digestOf(text []byte) digest {
	sum := sha256.Sum256(text)
	return digest(sum[:len(digest{})])
}

// transition is when the status of a condition changed last.
type transition struct {
	kind   string
	status metav1.ConditionStatus
	at     int64 // in seconds, as the API server stores it
}

// summary reads the status of an object. What cannot be read differs from all that is wanted.
func (k *kind) summary(object []byte) summary {
	if k.name == v1alpha1.KindEndpointPool {
		var is struct{ Status v1alpha1.EndpointPoolStatus }
		_ = json.Unmarshal(object, &is)
		return summaryOf(is.Status, is.Status.Conditions)
	}
	var is struct {
		Status v1alpha1.EndpointBindingStatus
	}
	_ = json.Unmarshal(object, &is)
	return summaryOf(is.Status, is.Status.Conditions)
}

func summaryOf(status any, conditions []metav1.Condition) summary {
	var out summary
	if text, err := json.Marshal(status); err == nil {
		out.digest = digestOf(text)
	}
	for _, c := range conditions {
		out.since = append(out.since, transition{c.Type, c.Status, c.LastTransitionTime.Unix()})
	}
	return out
}

// attempt is a status that the API server accepted and did not store as it was.
type attempt struct {
	summary
	at time.Time
}

// last is what the object was told last.
func (o *object) last() summary {
	if o.sent != nil {
		return o.sent.summary
	}
	return o.has
}

// says reports whether a status says nothing new. One that was not stored as it was is
// written again after a long time: the definition may be another one by then.
func (o *object) says(wanted digest, now time.Time) bool {
	return wanted == o.has.digest || o.sent != nil && wanted == o.sent.digest && now.Sub(o.sent.at) < mostRefused
}

// dated gives conditions the time when their status changed.
func (s summary) dated(to []metav1.Condition, now time.Time) []metav1.Condition {
	out := slices.Clone(to)
	for i := range out {
		out[i].LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		for _, before := range s.since {
			if before.kind == out[i].Type && before.status == out[i].Status {
				out[i].LastTransitionTime = metav1.Unix(before.at, 0)
			}
		}
	}
	return out
}
