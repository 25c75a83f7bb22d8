package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
)

// leases sends the requests for the one Lease.
type leases struct {
	client          *kubeapi.Client
	namespace, name string
}

func newLeases(opts Options) (*leases, error) {
	client, err := kubeapi.New(opts.Config, kubeapi.Options{
		UserAgent: opts.UserAgent, Version: coordinationv1.SchemeGroupVersion,
		Types: []runtime.Object{&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
	})
	return &leases{client, opts.Namespace, opts.Name}, err
}

// sight is the Lease, nil where there is none, at a revision of the server.
type sight struct {
	lease    *coordinationv1.Lease
	revision string
}

// look reads the Lease from the server's storage. It lists instead of getting,
// for the answer of a list also says at which revision there was none.
func (l *leases) look(ctx context.Context) (sight, error) {
	list := &coordinationv1.LeaseList{}
	err := l.do(ctx, "list", l.client.Get().VersionedParams(l.selection(), l.client.Codec), list)
	if err != nil {
		return sight{}, err
	}
	seen := sight{revision: list.ResourceVersion}
	if len(list.Items) > 0 {
		seen.lease = &list.Items[0]
	}
	return seen, nil
}

// create makes the Lease.
func (l *leases) create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	answer := &coordinationv1.Lease{}
	return answer, l.do(ctx, "create", l.client.Post().Body(lease), answer)
}

// update replaces the Lease, provided that it still has the resourceVersion.
func (l *leases) update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	answer := &coordinationv1.Lease{}
	return answer, l.do(ctx, "update", l.client.Put().Name(l.name).Body(lease), answer)
}

// do sends a request. After one that nobody answered the connection is not
// trusted any more: the next request makes a new one.
func (l *leases) do(ctx context.Context, verb string, request *rest.Request, into runtime.Object) error {
	own, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := request.Namespace(l.namespace).Resource("leases").Do(own).Into(into)
	if err != nil && own.Err() != nil {
		l.client.Reconnect()
	}
	return l.explain(verb, err)
}

// watch tells what becomes of the Lease after a revision. Opening it is bounded
// as any request is.
func (l *leases) watch(ctx context.Context, revision string) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	options := l.selection()
	options.Watch, options.ResourceVersion = true, revision
	patience := time.AfterFunc(requestTimeout, cancel)
	events, err := l.client.Get().Namespace(l.namespace).Resource("leases").VersionedParams(options, l.client.Codec).Watch(ctx)
	if err == nil && !patience.Stop() {
		events.Stop()
		err = context.DeadlineExceeded
	}
	if err != nil {
		patience.Stop()
		if ctx.Err() != nil {
			l.client.Reconnect()
		}
		cancel()
		return nil, l.explain("watch", err)
	}
	return stoppable{events, cancel}, nil
}

// stoppable is a watch whose context ends with it.
type stoppable struct {
	watch.Interface
	cancel context.CancelFunc
}

func (s stoppable) Stop() {
	s.cancel()
	s.Interface.Stop()
}

// selection selects the one Lease.
func (l *leases) selection() *metav1.ListOptions {
	return &metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", l.name).String()}
}

// close ends every connection.
func (l *leases) close() { l.client.Close() }

// explain says what to do about an error.
func (l *leases) explain(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; grant list, watch, create and update of leases (coordination.k8s.io) in the namespace %s", redact.Brief(err), l.namespace)
	case verb == "create" && apierrors.IsNotFound(err):
		err = fmt.Errorf("%w; create the namespace, or set LEADER_ELECTION_NAMESPACE to one that exists", redact.Brief(err))
	default:
		err = redact.Brief(err)
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
