package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

const (
	// manager is what the fields of children are written as.
	fieldManager = "endpoint-views-fleet"
	// appliedAnnotation has the hash of what was applied. By it the operator notices that
	// something is to go, which is in an object and not in what it should be.
	appliedAnnotation = v1alpha1.GroupName + "/applied"
)

// write makes one object what it is to be. An object that is there and is not the Envoy's is
// left alone.
func (r *reconciler) write(ctx context.Context, e *v1alpha1.Envoy, wanted client.Object) (*manifests.Problem, error) {
	form, err := formOf(wanted)
	if err != nil {
		return nil, err
	}
	is, err := r.look(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if is == nil {
		// A request that creates, and not one that applies: that would take over what
		// somebody else made meanwhile.
		err := r.client.Create(ctx, form, client.FieldOwner(fieldManager))
		if apierrors.IsAlreadyExists(err) {
			return taken(form), nil
		}
		return refused(form, err)
	}
	switch {
	case !isOf(is, e):
		return taken(form), nil
	case is.GetDeletionTimestamp() != nil:
		return &manifests.Problem{Reason: v1alpha1.ReasonNameTaken, Message: fmt.Sprintf("%s %s is being deleted; it is made again when it is gone", form.GetKind(), form.GetName())}, nil
	}
	same, err := holds(is, form)
	if err != nil || same {
		return nil, err
	}
	if err := r.own(ctx, is); err != nil {
		return nil, err
	}
	// With its UID the request fails if the object is another one by now.
	form.SetUID(is.GetUID())
	err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(form), client.FieldOwner(fieldManager), client.ForceOwnership)
	return refused(form, err)
}

func taken(form *unstructured.Unstructured) *manifests.Problem {
	const text = "%s %s exists and is not of this Envoy, so it is left alone; delete it, or make an Envoy with other names"
	return &manifests.Problem{Reason: v1alpha1.ReasonNameTaken, Message: fmt.Sprintf(text, form.GetKind(), form.GetName())}
}

// refused tells what an API server refuses for good from what may work later.
func refused(form *unstructured.Unstructured, err error) (*manifests.Problem, error) {
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
		return &manifests.Problem{Reason: v1alpha1.ReasonRefused, Message: fmt.Sprintf("the API server refuses %s %s: %v", form.GetKind(), form.GetName(), err)}, nil
	}
	return nil, err
}

// look returns an object as it is; nil if it is not there. What the cache does not know is
// not there, or not ours.
func (r *reconciler) look(ctx context.Context, wanted client.Object) (client.Object, error) {
	is := blank(wanted)
	key := client.ObjectKeyFromObject(wanted)
	err := r.client.Get(ctx, key, is)
	if apierrors.IsNotFound(err) {
		err = r.live.Get(ctx, key, is)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return is, nil
}

// blank is an empty object of the same type.
func blank(object client.Object) client.Object {
	out, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(object).Elem()))
	return out
}

// own makes the operator's fields those of server-side apply. A request that creates leaves
// them as those of an update, which no later apply would take away.
func (r *reconciler) own(ctx context.Context, object client.Object) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(object, sets.New(fieldManager), fieldManager)
	if err != nil || len(patch) == 0 {
		return err
	}
	return client.IgnoreNotFound(r.client.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(fieldManager)))
}

// formOf is an object as it is applied: without its status, and with the hash of all of it.
func formOf(wanted client.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, err
	}
	delete(fields, "status")
	form := &unstructured.Unstructured{Object: fields}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return form, unstructured.SetNestedField(fields, hex.EncodeToString(sum[:8]), "metadata", "annotations", appliedAnnotation)
}

// holds reports whether an object is as it is to be. What others added to it may stay.
func holds(is client.Object, form *unstructured.Unstructured) (bool, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(is)
	if err != nil {
		return false, err
	}
	wanted := form.DeepCopy().Object
	// A typed object from the cache does not say its kind.
	delete(wanted, "apiVersion")
	delete(wanted, "kind")
	return within(wanted, fields), nil
}

// within reports whether all that is wanted is there.
func within(wanted, is any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, ok := is.(map[string]any)
		if !ok {
			return len(wanted) == 0 && is == nil
		}
		for name, value := range wanted {
			if !within(value, fields[name]) {
				return false
			}
		}
		return true
	case []any:
		items, ok := is.([]any)
		if !ok || len(items) != len(wanted) {
			return !ok && len(wanted) == 0
		}
		for i := range wanted {
			if !within(wanted[i], items[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(wanted, is)
	}
}
