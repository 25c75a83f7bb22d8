package election

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

// leases sends the requests for the one Lease.
type leases struct {
	client          *kubeapi.Client
	namespace, name string
}

func newLeases(opts Options) (*leases, error) {
	client, err := kubeapi.New(kubeapi.Options{Way: opts.Way, UserAgent: opts.UserAgent, Timeout: requestTimeout})
	if err == nil {
		err = client.Refresh()
	}
	return &leases{client, opts.Namespace, opts.Name}, err
}

// snapshot is the Lease, nil where there is none, at a revision of the server.
type snapshot struct {
	lease    *coordinationv1.Lease
	revision string
}

// look reads the Lease from the server's storage. It lists, because a list has a
// revision even if there is no Lease.
func (l *leases) look(ctx context.Context) (snapshot, error) {
	list := &coordinationv1.LeaseList{}
	if err := l.client.List(ctx, kubeapi.Leases(l.namespace), kubeapi.Named(l.name), list); err != nil {
		return snapshot{}, l.explain("list", err)
	}
	seen := snapshot{revision: list.ResourceVersion}
	if len(list.Items) > 0 {
		seen.lease = &list.Items[0]
	}
	return seen, nil
}

// create makes the Lease.
func (l *leases) create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	answer := &coordinationv1.Lease{}
	return answer, l.explain("create", l.client.Create(ctx, kubeapi.Leases(l.namespace), lease, answer))
}

// update replaces the Lease, provided that it still has the resourceVersion.
func (l *leases) update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	answer := &coordinationv1.Lease{}
	return answer, l.explain("update", l.client.Update(ctx, kubeapi.Leases(l.namespace), l.name, lease, answer))
}

// watch watches the Lease from a revision on.
func (l *leases) watch(ctx context.Context, revision string) (watch.Interface, error) {
	options := kubeapi.Named(l.name)
	options.ResourceVersion = revision
	events, err := l.client.Watch(ctx, kubeapi.Leases(l.namespace), options)
	return events, l.explain("watch", err)
}

// close ends every connection.
func (l *leases) close() { l.client.Close() }

// explain says what to do about an error.
func (l *leases) explain(verb string, err error) error {
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

// absent reports whether there is no Lease to update.
func absent(err error) bool { return apierrors.IsNotFound(err) }

// answered reports whether the server refused for a reason of its own, so that
// nothing was written.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code < 500
}
