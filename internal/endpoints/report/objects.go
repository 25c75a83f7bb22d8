package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// ObjectStatus is what an object in the API server is to say of itself. Its conditions
// have no time of their last transition.
type ObjectStatus struct {
	Key documents.Key
	UID string
	// Pool or Binding is set.
	Pool    *v1alpha1.EndpointPoolStatus
	Binding *v1alpha1.EndpointBindingStatus
	// Early says that more will be known in a moment: nothing is wrong yet.
	Early bool
}

// Statuses says what each object in the API server is to say of itself, one after the other,
// and whether slices wait to be written: these go first. Messages change only when something
// does.
func (m Process) Statuses() (all iter.Seq[ObjectStatus], busy bool) {
	if m.standsBy() || m.Snapshot.At.IsZero() {
		return func(func(ObjectStatus) bool) {}, false
	}
	return m.objects, m.busy()
}

// objects works out one status at a time: those of 1,000 objects are memory.
func (m Process) objects(yield func(ObjectStatus) bool) {
	s := m.survey()
	for _, entries := range [][]documents.Entry{m.Snapshot.Documents.Entries, m.Snapshot.Documents.Shadowed} {
		for i := range entries {
			e := &entries[i]
			if e.Object == nil {
				continue
			}
			of := s.bindingObject
			if e.Key.Kind == v1alpha1.KindEndpointPool {
				of = s.poolObject
			}
			if !yield(of(e)) {
				return
			}
		}
	}
}

// busy reports whether a slice waits that can be written.
func (m Process) busy() bool {
	for i := range m.Snapshot.Targets {
		if m.Snapshot.Plan.Targets[i].DryRun || m.DryRun {
			continue
		}
		for _, f := range m.Snapshot.Targets[i].Fills {
			if f.State != nil && f.State.Pending > 0 && f.State.WriteErr == nil && f.State.LoadErr == nil && f.State.Defect == nil {
				return true
			}
		}
	}
	return false
}

// conditions are those of one object.
type objectConditions struct {
	generation int64
	all        []metav1.Condition
}

func (c *objectConditions) add(kind string, status metav1.ConditionStatus, reason, format string, args ...any) {
	c.all = append(c.all, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...), ObservedGeneration: c.generation})
}

// document says whether the document itself counts, and reports whether there is nothing
// else to say.
func (c *objectConditions) document(e *documents.Entry) (refused bool) {
	const kind = v1alpha1.ConditionAccepted
	switch e.Reason {
	case v1alpha1.ReasonAccepted:
		return false
	case v1alpha1.ReasonShadowed:
		c.add(kind, metav1.ConditionFalse, e.Reason, "a file in DOCUMENTS_DIR has %s too, and the file counts; remove one of them", e.Key)
		return true
	}
	text := "the document has a mistake"
	if len(e.Mistakes) > 0 {
		m := e.Mistakes[0]
		m.File, m.Document = "", ""
		text = m.Error()
	}
	switch {
	case e.Reason == v1alpha1.ReasonOutdated: // its mistake says what stays
	case e.Kept:
		text += ". The last good version stays in effect"
	case e.OnlyChecked != nil:
		text += ". No good version is known: the published endpoints of the pool stay and are checked, and the source is not read"
	default:
		text += ". Its published endpoints stay"
	}
	c.add(kind, metav1.ConditionFalse, e.Reason, "%s", text)
	return true
}

func (c *objectConditions) notHeld() {
	c.add(v1alpha1.ConditionHeld, metav1.ConditionFalse, v1alpha1.ReasonNotHeld, "the published endpoints follow the source and the health checks")
}

func (c *objectConditions) held(cause guard.Cause) {
	const kind = v1alpha1.ConditionHeld
	switch cause {
	case guard.ProbesSilent:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonCutOff, "so many endpoints are silent at once that the controller may be cut off from them: silence takes no endpoint down")
	case guard.NothingPasses:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonNoEndpointReady, "no endpoint that stays passes its health check: endpoints that pass or were ready stay published")
	case guard.NoNodes, guard.NothingPassesFilter, guard.NothingStays, guard.TooManyRemovals, guard.ContradictoryRead:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonInventoryRejected, "the inventory was rejected (%s): endpoints that it leaves out stay, and follow their health checks", cause)
	default:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonInventoryRejected, "the inventory was rejected: endpoints that it leaves out stay, and follow their health checks")
	}
}

// bindingObject is what a binding says of itself.
func (s *survey) bindingObject(e *documents.Entry) ObjectStatus {
	c := objectConditions{generation: e.Object.Generation}
	status := &v1alpha1.EndpointBindingStatus{ObservedGeneration: e.Object.Generation}
	out := ObjectStatus{Key: e.Key, UID: e.Object.UID, Binding: status}
	refused := c.document(e)
	if e.Reason == v1alpha1.ReasonShadowed {
		status.Conditions = c.all
		return out
	}
	key := assign.Key{Namespace: e.Key.Namespace, Service: e.Key.Name}
	i, is := s.find(key)
	d := &Document{Refusals: s.refusals(key)}
	if is {
		d = s.target(i, false)
		out.Early = s.early(i)
	} else {
		out.Early = len(d.Refusals) == 0 && !refused
	}
	if !refused {
		c.accepted(d)
	}
	c.programmed(d, is)
	status.Endpoints = v1alpha1.EndpointCounts{Ready: int32(d.Stages.Ready), Draining: int32(d.Stages.Draining), Down: int32(d.Stages.Down)}
	ready, total := d.Stages.published()
	status.Ready = fmt.Sprintf("%d/%d", ready, total)
	c.ready(d, ready, total)
	s.bindingHeld(&c, d)
	status.Conditions = c.all
	return out
}

// early reports whether a target was not decided or planned yet.
func (s *survey) early(i int) bool {
	t := &s.Snapshot.Targets[i]
	if t.Problem != "" {
		return false
	}
	for j, u := range s.Snapshot.Plan.Targets[i].Uses {
		g := s.groups[u.Group]
		if fillOf(t.Fills, j, u).State == nil || u.State != assign.Emptied && (g == nil || g.State == nil || !g.State.Decided) {
			return true
		}
	}
	return false
}

// accepted says whether the pools grant what the binding asks for, and whether the Service
// can be filled.
func (c *objectConditions) accepted(d *Document) {
	const kind = v1alpha1.ConditionAccepted
	switch {
	case len(d.Refusals) > 0:
		c.add(kind, metav1.ConditionFalse, d.Refusals[0].Reason, "%s", d.Refusals[0].Message)
	case d.Problem != nil:
		c.add(kind, metav1.ConditionFalse, d.Problem.Kind, "%s", d.Problem.Message)
	case len(d.Store.SlicesOfOthers) > 0:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonSliceOwnedByOther, "%s", d.Store.SlicesOfOthers[0])
	default:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "the pools grant what the binding asks for")
	}
}

// programmed says whether the slices are as decided.
func (c *objectConditions) programmed(d *Document, is bool) {
	const kind = v1alpha1.ConditionProgrammed
	leaving := len(d.Pools) > 0 && !slices.ContainsFunc(d.Pools, func(p PoolPart) bool { return p.State != Leaving && p.State != Emptied })
	switch failed := cmp.Or(d.Store.LoadError, d.Store.WriteError); {
	case !is:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonPending, "no endpoint is published for this binding")
	case failed != "":
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonWriteFailed, "%s", failed)
	case leaving:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonReleasing, "%s", d.Pools[0].StateMessage)
	case d.DryRun:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonDryRun, "a dry run writes no slice")
	case d.Problem != nil, d.Store.PendingSlices > 0:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonPending, "the slices are not as decided yet")
	default:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonProgrammed, "the slices are as decided")
	}
}

// ready says whether the Service has an endpoint that gets traffic.
func (c *objectConditions) ready(d *Document, ready, total int) {
	const kind = v1alpha1.ConditionReady
	switch {
	case d.DryRun:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonDryRun, "a dry run publishes nothing; %d of %d endpoints would be ready", ready, total)
	case ready == 0, d.Problem != nil:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonNoEndpointReady, "no endpoint is ready")
	case d.Mode == guard.FailOpen.String():
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonFailOpen, "no endpoint passes its health check, so all %d are published ready", ready)
	default:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonEndpointsReady, "%d of %d endpoints are ready", ready, total)
	}
}

// bindingHeld says whether something else is published than was seen.
func (s *survey) bindingHeld(c *objectConditions, d *Document) {
	const kind = v1alpha1.ConditionHeld
	i := slices.IndexFunc(d.Pools, func(p PoolPart) bool { return p.State == Kept })
	switch {
	case i >= 0 && s.unusable(d.Pools[i].Name):
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonInvalid, "pool %s: %s", d.Pools[i].Name, d.Pools[i].StateMessage)
	case i >= 0:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonManyReleased, "so many Services lost their binding or their pool at once that it may be a mistake: the endpoints stay published and checked")
	case d.Mode == guard.Hold.String():
		c.held(guard.Cause(d.Reason))
	default:
		c.notHeld()
	}
}

// unusable reports whether no version of the document of a pool can be used.
func (s *survey) unusable(pool string) bool {
	e, described := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointPool, Name: pool})
	return described && !e.Usable()
}
