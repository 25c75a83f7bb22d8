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

// leases sends the requests for one Lease.
type leases struct {
	client          *kube.Client
	namespace, name string
}

// look reads the Lease from the server's storage, nil where there is none. It lists,
// because a list has a revision even if there is no Lease.
func (l leases) look(ctx context.Context) (lease *coordinationv1.Lease, revision string, err error) {
	list := &coordinationv1.LeaseList{}
	if err := l.client.List(ctx, kube.Leases(l.namespace), kube.Named(l.name), list); err != nil {
		return nil, "", l.explain("list", err)
	}
	if len(list.Items) > 0 {
		lease = &list.Items[0]
	}
	return lease, list.ResourceVersion, nil
}

func (l leases) create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	answer := &coordinationv1.Lease{}
	return answer, l.explain("create", l.client.Create(ctx, kube.Leases(l.namespace), lease, answer))
}

// update replaces the Lease, provided that it still has the resourceVersion.
func (l leases) update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	answer := &coordinationv1.Lease{}
	return answer, l.explain("update", l.client.Update(ctx, kube.Leases(l.namespace), l.name, lease, answer))
}

// watch follows the Lease from a revision on, for so many seconds where that is bounded.
func (l leases) watch(ctx context.Context, revision string, seconds *int64) (watch.Interface, error) {
	options := kube.Named(l.name)
	options.ResourceVersion, options.TimeoutSeconds = revision, seconds
	events, err := l.client.Watch(ctx, kube.Leases(l.namespace), options)
	return events, l.explain("watch", err)
}

// explain says what to do about an error.
func (l leases) explain(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; grant list, watch, create and update of leases (coordination.k8s.io) in the namespace %s", err, l.namespace)
	case verb == "create" && apierrors.IsNotFound(err):
		err = fmt.Errorf("%w; create the namespace, or set LEADER_ELECTION_NAMESPACE to one that exists", err)
	}
	return fmt.Errorf("%s lease %s/%s: %w", verb, l.namespace, l.name, err)
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
