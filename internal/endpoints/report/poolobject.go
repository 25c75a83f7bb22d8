package report

import (
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// poolObject is what a pool says of itself.
func (s *survey) poolObject(e *documents.Entry) ObjectStatus {
	c := objectConditions{generation: e.Object.Generation}
	status := &v1alpha1.EndpointPoolStatus{ObservedGeneration: e.Object.Generation}
	out := ObjectStatus{Key: e.Key, UID: e.Object.UID, Pool: status}
	refused := c.document(e)
	p := s.pools[e.Key.Name]
	missing := new(controller.MissingCredentials)
	switch {
	case refused:
	case p != nil && errors.As(p.newest().LastErr, &missing):
		c.add(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonCredentialsMissing, "spec.credentials=%s lacks a file that the source needs: the log of the controller says which; it is used as soon as it is there", p.document.Spec.Credentials)
	case p != nil && p.Problem != "":
		c.add(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonInvalid, "the pool cannot be used as the document says: %s. What ran before goes on", p.Problem)
	default:
		note := ""
		if e.Note != "" {
			note = ", but " + e.Note
		}
		c.add(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "the document is valid and within the bounds%s", note)
	}
	if p != nil && e.Reason != v1alpha1.ReasonShadowed {
		status.Source = sourceKind(p.document)
		status.Services = int32(p.targets)
		out.Early = c.sourceReady(status, p)
		c.poolHeld(p)
	}
	status.Conditions = c.all
	return out
}

// sourceReady says how reading goes, and reports whether that is not known yet. Why a
// source cannot be read is for those who have its credentials, and they have the log.
func (c *objectConditions) sourceReady(status *v1alpha1.EndpointPoolStatus, p *surveyedPool) (early bool) {
	const kind = v1alpha1.ConditionSourceReady
	newest := p.newest()
	switch {
	case sourceKind(p.document) == "":
		c.add(kind, metav1.ConditionUnknown, v1alpha1.ReasonNotRead, "the document has a mistake and no earlier version is known, so the source is not read; endpoints stay published, and health checks go on")
		return false
	case len(p.groups) == 0:
		c.add(kind, metav1.ConditionUnknown, v1alpha1.ReasonNotRead, "no Service uses the pool, so its source is not read")
		return false
	case newest.LastAttempt.IsZero():
		c.add(kind, metav1.ConditionUnknown, v1alpha1.ReasonNotRead, "the source was not read yet")
		return true
	}
	status.Nodes = int32(newest.Nodes)
	err := newest.LastErr
	const stay = "the log of the controller says why; endpoints stay published, and health checks go on"
	unplaced := slices.ContainsFunc(p.groups, func(g *surveyedGroup) bool {
		return g.State != nil && explain.Placement(&g.State.Outcome).Reason == inventory.Reason(explain.PlacementUnavailable)
	})
	switch {
	case err == nil && unplaced:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonSourceReadFailed, "the nodes of a remote Service's Pods cannot be read; "+stay)
	case err == nil:
		c.add(kind, metav1.ConditionTrue, v1alpha1.ReasonSourceRead, "the source can be read")
	case errors.Is(err, inventory.ErrUnauthorized):
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonSourceUnauthorized, "the source refuses the credentials; "+stay)
	case errors.Is(err, inventory.ErrIncomplete):
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonSourceIncomplete, "the source gave no complete answer, which is no inventory; "+stay)
	default:
		c.add(kind, metav1.ConditionFalse, v1alpha1.ReasonSourceReadFailed, "the source cannot be read; "+stay)
	}
	return false
}

// newest is what the group that heard of the source last heard, nothing where none did.
func (p *surveyedPool) newest() (newest pool.SourceStatus) {
	for _, g := range p.groups {
		if g.State != nil && g.State.Source.LastAttempt.After(newest.LastAttempt) {
			newest = g.State.Source
		}
	}
	return newest
}

// poolHeld says whether the worst of its groups publishes something else than was seen.
func (c *objectConditions) poolHeld(p *surveyedPool) {
	for _, g := range p.groups {
		if g.State != nil && g.State.Verdict.Mode == guard.Hold {
			c.held(g.State.Verdict.Cause)
			return
		}
	}
	c.notHeld()
}
