package lease

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// The requests for the one Lease.

// look reads the Lease from the server's storage, nil where there is none. It lists,
// because a list has a revision even if there is no Lease.
func (e *Elector) look(ctx context.Context) (lease *coordinationv1.Lease, revision string, err error) {
	list := &coordinationv1.LeaseList{}
	if err := e.client.List(ctx, kube.Leases(e.opts.Namespace), kube.Named(e.opts.Name), list); err != nil {
		return nil, "", e.explain("list", err)
	}
	if len(list.Items) > 0 {
		lease = &list.Items[0]
	}
	return lease, list.ResourceVersion, nil
}

func (e *Elector) create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	answer := &coordinationv1.Lease{}
	return answer, e.explain("create", e.client.Create(ctx, kube.Leases(e.opts.Namespace), lease, answer))
}

// update replaces the Lease, provided that it still has the resourceVersion.
func (e *Elector) update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	answer := &coordinationv1.Lease{}
	return answer, e.explain("update", e.client.Update(ctx, kube.Leases(e.opts.Namespace), e.opts.Name, lease, answer))
}

func (e *Elector) watch(ctx context.Context, revision string) (watch.Interface, error) {
	options := kube.Named(e.opts.Name)
	options.ResourceVersion = revision
	events, err := e.client.Watch(ctx, kube.Leases(e.opts.Namespace), options)
	return events, e.explain("watch", err)
}

// explain says what to do about an error.
func (e *Elector) explain(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; grant list, watch, create and update of leases (coordination.k8s.io) in the namespace %s", err, e.opts.Namespace)
	case verb == "create" && apierrors.IsNotFound(err):
		err = fmt.Errorf("%w; create the namespace, or set LEADER_ELECTION_NAMESPACE to one that exists", err)
	}
	return fmt.Errorf("%s lease %s/%s: %w", verb, e.opts.Namespace, e.opts.Name, err)
}

// raced reports whether a write came too late: the Lease is not what it was
// computed from.
func raced(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// answered reports whether the server refused for a reason of its own, so that
// nothing was written.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code < 500
}
