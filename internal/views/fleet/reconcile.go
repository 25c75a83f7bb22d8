package fleet

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// lookAgain is when a problem is looked at again of which no watch tells: an object that is
// not ours is not watched.
const lookAgain = 15 * time.Second

// reconciler brings one fleet to what its Envoy says.
type reconciler struct {
	client client.Client
	// live reads past the cache, which knows our objects only, and of an Envoy not all.
	live     client.Reader
	settings manifests.Settings
	streams  Watcher
}

// Reconcile implements reconcile.Reconciler. A conflict says that the cache was behind,
// which is no error.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, request)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: firstRetry}, nil
	}
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	e := &v1alpha1.Envoy{}
	// A Pod that only has our label may name an Envoy that the cache does not know.
	err := r.client.Get(ctx, request.NamespacedName, &v1alpha1.Envoy{})
	if err == nil {
		err = r.live.Get(ctx, request.NamespacedName, e)
	}
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if e.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	pods, err := r.pods(ctx, e)
	if err != nil {
		return ctrl.Result{}, err
	}
	seen := manifests.FleetState{Envoy: e, Pods: states(pods)}
	// It is what serve says of the object, too.
	if _, seen.Mistake = envoyconfig.FromObject(e); seen.Mistake != nil {
		err = r.scale(ctx, e)
	} else if seen.Problem, err = r.make(ctx, e, pods); seen.Problem != nil || err != nil {
		err = errors.Join(err, r.scale(ctx, e))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if seen.Deployment, err = r.deployment(ctx, e); err != nil {
		return ctrl.Result{}, err
	}
	if r.streams != nil {
		seen.Streams = r.streams.Of(request.String())
	} else {
		seen.Streams = manifests.Streams{Asked: true, Missing: "FLEET_SERVE_URL is not set"}
	}
	result := ctrl.Result{}
	if seen.Problem != nil {
		result.RequeueAfter = lookAgain
	}
	return result, r.tell(ctx, e, manifests.Status(seen))
}

// tell writes the status, if it is another one.
func (r *reconciler) tell(ctx context.Context, e *v1alpha1.Envoy, next v1alpha1.EnvoyStatus) error {
	if equality.Semantic.DeepEqual(e.Status, next) {
		return nil
	}
	before := e.DeepCopy()
	e.Status = next
	if err := r.client.Status().Patch(ctx, e, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, c := range next.Conditions {
		if was := meta.FindStatusCondition(before.Status.Conditions, c.Type); was == nil || was.Status != c.Status || was.Reason != c.Reason {
			log.FromContext(ctx).Info("condition changed", "condition", c.Type, "status", c.Status, "reason", c.Reason, "message", c.Message)
		}
	}
	return nil
}

// make makes the objects of the fleet what they are to be. It stops at the first problem.
func (r *reconciler) make(ctx context.Context, e *v1alpha1.Envoy, pods []corev1.Pod) (*manifests.Problem, error) {
	kept, err := r.kept(ctx, e, pods)
	if err != nil {
		return nil, err
	}
	all, err := manifests.Of(e, r.settings, kept)
	if err != nil {
		return &manifests.Problem{Reason: v1alpha1.ReasonInvalid, Message: err.Error()}, nil //nolint:nilerr // it is the Envoy's, and its status tells it
	}
	// The Deployment comes last, because its Pods need the ConfigMap.
	for _, child := range []client.Object{all.ConfigMap, all.Service, all.NetworkPolicy, all.Budget, all.Deployment} {
		if problem, err := r.write(ctx, e, child); problem != nil || err != nil {
			return problem, err
		}
	}
	return nil, nil
}

// scale sets the number of Pods and nothing else. While a spec has a mistake, serve keeps the
// listeners of the last good version, so everything before and around the Pods stays that of
// this version; and where an object is refused, those after it do. How many Pods there are has
// nothing to do with it, and an autoscaler goes on.
func (r *reconciler) scale(ctx context.Context, e *v1alpha1.Envoy) error {
	d, err := r.deployment(ctx, e)
	if err != nil || d == nil || e.Spec.Replicas == nil || d.Spec.Replicas != nil && *d.Spec.Replicas == *e.Spec.Replicas {
		return err
	}
	before := d.DeepCopy()
	d.Spec.Replicas = e.Spec.Replicas
	return client.IgnoreNotFound(r.client.Patch(ctx, d, client.MergeFrom(before), client.FieldOwner(fieldManager)))
}

// mostFiles is up to how many files a ConfigMap keeps those of before.
const mostFiles = 64

// kept are the files of the ConfigMap that Pods were started from, and those of the
// Deployment as it is: its Pods may not be known yet. While it lacks Pods, an old ReplicaSet
// may make them.
func (r *reconciler) kept(ctx context.Context, e *v1alpha1.Envoy, pods []corev1.Pod) (map[string]string, error) {
	is := &corev1.ConfigMap{}
	if err := r.client.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: e.Spec.ConfigMapName}, is); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	needed := make(map[string]bool, len(pods)+1)
	for i := range pods {
		needed[manifests.FileOf(pods[i].Annotations[manifests.BootstrapAnnotation])] = true
	}
	deployment, err := r.deployment(ctx, e)
	if err != nil {
		return nil, err
	}
	lacks := false
	if deployment != nil {
		needed[manifests.FileOf(deployment.Spec.Template.Annotations[manifests.BootstrapAnnotation])] = true
		lacks = deployment.Status.AvailableReplicas < manifests.Replicas(e) && len(is.Data) < mostFiles
	}
	maps.DeleteFunc(is.Data, func(name, _ string) bool {
		old, _ := filepath.Match(manifests.FileOf("*"), name)
		return !needed[name] && !(lacks && old)
	})
	return is.Data, nil
}

// deployment is that of the fleet, nil where there is none.
func (r *reconciler) deployment(ctx context.Context, e *v1alpha1.Envoy) (*appsv1.Deployment, error) {
	found := &appsv1.Deployment{}
	err := r.client.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: e.Spec.Name}, found)
	if err != nil || !isOf(found, e) {
		return nil, client.IgnoreNotFound(err)
	}
	return found, nil
}
