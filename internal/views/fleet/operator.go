package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// Options are what an operator is made of.
type Options struct {
	// Access is the way to the API server.
	Access *rest.Config
	// Namespaces are those whose Envoys are looked after; none means all.
	Namespaces []string
	// Children are what the operator adds to what an Envoy says.
	Children manifests.Settings
	// Streams asks endpoint-views; nil where it is not asked.
	Streams Watcher
	// MetricsAddress is where /livez, /readyz and /metrics are; "0" is nowhere.
	MetricsAddress string
	// LeaseNamespace and LeaseName are those of the Lease; without a name there is no
	// election.
	LeaseNamespace, LeaseName string
	Logger                    logr.Logger
}

// Watcher tells what Pods said to endpoint-views.
type Watcher interface {
	// Run asks until ctx ends, and calls changed with each fleet, NAMESPACE/NAME, of
	// which something is new; with "" where that is every fleet.
	Run(ctx context.Context, changed func(ctx context.Context, fleet string))
	// Of returns the streams of a fleet.
	Of(fleet string) manifests.Streams
}

const (
	// workers is how many fleets are looked at at a time.
	workers = 4
	// firstRetry and lastRetry are how long an error is waited for.
	firstRetry, lastRetry = 50 * time.Millisecond, 30 * time.Second
	// countTimeout bounds what one scrape waits for: at the start the cache is not filled.
	countTimeout = 5 * time.Second
	// syncTimeout is how long the first lists may take.
	syncTimeout = 2 * time.Minute
)

// Operator looks after fleets.
type Operator struct {
	manager manager.Manager
	streams Watcher
	changed chan event.GenericEvent
}

// New makes an operator. It asks the API server for the kinds that it has, and nothing else.
func New(o Options) (*Operator, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	access := o.Access
	if o.LeaseName != "" {
		access = rest.CopyConfig(access)
		access.Wrap((&fence{}).around)
	}
	// Otherwise the library complains about messages without a place to go.
	ctrl.SetLogger(o.Logger)
	healthy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	m, err := ctrl.NewManager(access, ctrl.Options{
		Scheme: scheme, Cache: caching(o.Namespaces), Logger: o.Logger,
		Metrics: metricsserver.Options{
			BindAddress: o.MetricsAddress, ExtraHandlers: map[string]http.Handler{"/livez": healthy, "/readyz": healthy},
		},
		LeaderElection: o.LeaseName != "", LeaderElectionNamespace: o.LeaseNamespace, LeaderElectionID: o.LeaseName,
		LeaderElectionReleaseOnCancel: true, LeaseDuration: new(leaseDuration), RenewDeadline: new(renewDeadline),
	})
	if err != nil {
		return nil, err
	}
	operator := &Operator{manager: m, streams: o.Streams, changed: make(chan event.GenericEvent)}
	return operator, operator.build(o)
}

// Run looks after the fleets until ctx ends.
func (o *Operator) Run(ctx context.Context) error {
	counted := &Gauges{Elected: o.manager.Elected(), List: func() (v1alpha1.EnvoyList, error) {
		bounded, cancel := context.WithTimeout(ctx, countTimeout)
		defer cancel()
		var all v1alpha1.EnvoyList
		err := o.manager.GetClient().List(bounded, &all)
		return all, err
	}}
	// The registry is that of the library. Only in tests is there another operator.
	if err := metrics.Registry.Register(counted); err == nil {
		defer metrics.Registry.Unregister(counted)
	}
	return o.manager.Start(ctx)
}

// build says what is watched.
func (o *Operator) build(options Options) error {
	r := &reconciler{client: o.manager.GetClient(), live: o.manager.GetAPIReader(), settings: options.Children, streams: options.Streams}
	err := ctrl.NewControllerManagedBy(o.manager).Named("envoy").
		For(&v1alpha1.Envoy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}).Owns(&networkingv1.NetworkPolicy{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(fleetOf)).
		WatchesRawSource(source.Channel(o.changed, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers, CacheSyncTimeout: syncTimeout, SkipNameValidation: new(true),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
	if err != nil || o.streams == nil {
		return err
	}
	return o.manager.Add(manager.RunnableFunc(o.follow))
}

// follow passes on what is new of the streams.
func (o *Operator) follow(ctx context.Context) error {
	o.streams.Run(ctx, func(ctx context.Context, fleet string) {
		all := v1alpha1.EnvoyList{Items: make([]v1alpha1.Envoy, 1)}
		all.Items[0].Namespace, all.Items[0].Name, _ = strings.Cut(fleet, "/")
		if fleet == "" {
			if err := o.manager.GetClient().List(ctx, &all); err != nil {
				o.manager.GetLogger().Error(err, "the Envoys cannot be listed")
			}
		}
		for i := range all.Items {
			select {
			case o.changed <- event.GenericEvent{Object: &all.Items[i]}:
			case <-ctx.Done():
			}
		}
	})
	return nil
}

// caching keeps Envoys, the objects that the operator made, and of all what it looks at.
func caching(namespaces []string) cache.Options {
	var labelled client.ListOptions
	client.HasLabels{manifests.EnvoyLabel}.ApplyToList(&labelled)
	made := cache.ByObject{Label: labelled.LabelSelector}
	o := cache.Options{DefaultTransform: lighten, ByObject: map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: made, &appsv1.Deployment{}: made, &corev1.Service{}: made,
		&policyv1.PodDisruptionBudget{}: made, &networkingv1.NetworkPolicy{}: made, &corev1.Pod{}: made,
	}}
	if len(namespaces) > 0 {
		o.DefaultNamespaces = make(map[string]cache.Config, len(namespaces))
		for _, namespace := range namespaces {
			o.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return o
}

// lighten leaves out what is not read, which others could make long: of a Pod all but its
// state, and of an object that has our label and belongs to no Envoy all but its name. Of an
// Envoy the name and what is counted stay; all of it is read when it is looked at.
func lighten(object any) (any, error) {
	switch is := object.(type) {
	case *v1alpha1.Envoy:
		return counted(is), nil
	case *corev1.Pod:
		is.ManagedFields, is.Spec = nil, corev1.PodSpec{}
		is.Annotations = map[string]string{manifests.BootstrapAnnotation: is.Annotations[manifests.BootstrapAnnotation]}
	case client.Object:
		if by := metav1.GetControllerOf(is); by == nil || by.Kind != v1alpha1.KindEnvoy {
			return nameOnly(is), nil
		}
	}
	return object, nil
}

// counted is of an Envoy what the metrics say, and the generation: another one is news.
func counted(e *v1alpha1.Envoy) *v1alpha1.Envoy {
	out := &v1alpha1.Envoy{Spec: v1alpha1.EnvoySpec{Replicas: e.Spec.Replicas}, Status: v1alpha1.EnvoyStatus{
		AvailableReplicas: e.Status.AvailableReplicas, ConnectedReplicas: e.Status.ConnectedReplicas,
	}}
	out.Namespace, out.Name, out.UID, out.ResourceVersion, out.Generation = e.Namespace, e.Name, e.UID, e.ResourceVersion, e.Generation
	for _, c := range e.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{Type: c.Type, Status: c.Status})
	}
	return out
}

// nameOnly is an object without what it says. That it is there is enough to leave it alone.
func nameOnly(object client.Object) client.Object {
	out := blank(object)
	out.SetNamespace(object.GetNamespace())
	out.SetName(object.GetName())
	out.SetUID(object.GetUID())
	out.SetResourceVersion(object.GetResourceVersion())
	out.SetLabels(map[string]string{manifests.EnvoyLabel: object.GetLabels()[manifests.EnvoyLabel]})
	return out
}
