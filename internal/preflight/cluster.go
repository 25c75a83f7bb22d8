package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

// requestTimeout bounds one request.
const requestTimeout = 8 * time.Second

// cluster asks an API server. It only reads; a review creates nothing either.
type cluster struct{ client *kubeapi.Client }

func newCluster(way kubeapi.Way) (*cluster, error) {
	client, err := kubeapi.Open(kubeapi.Options{Way: way, Timeout: requestTimeout})
	return &cluster{client}, err
}

func (c *cluster) close() { c.client.Close() }

// version returns the version that the server says.
func (c *cluster) version(ctx context.Context) (string, error) {
	body, err := c.client.Raw(ctx, "/version")
	if err != nil {
		return "", err
	}
	var said struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.GitVersion == "" {
		return "", errors.New("the answer names no version, so this is not a Kubernetes API server")
	}
	return said.GitVersion, nil
}

// whoami returns the user name that the server knows us by.
func (c *cluster) whoami(ctx context.Context) (string, error) {
	answer := &authenticationv1.SelfSubjectReview{}
	err := c.client.Create(ctx, kubeapi.SubjectReviews(), &authenticationv1.SelfSubjectReview{}, answer)
	return answer.Status.UserInfo.Username, err
}

// may reports whether we have a right, and what the server says about it.
func (c *cluster) may(ctx context.Context, right Right) (allowed bool, said string, err error) {
	answer := &authorizationv1.SelfSubjectAccessReview{}
	err = c.client.Create(ctx, kubeapi.AccessReviews(), right.review(), answer)
	return answer.Status.Allowed, cmp.Or(answer.Status.EvaluationError, answer.Status.Reason), err
}

// service returns the Service, nil where there is none. It is read by the verb
// that the store has a right to: "get", or "list" by its name.
func (c *cluster) service(ctx context.Context, verb, namespace, name string) (*corev1.Service, error) {
	if verb == "get" {
		service := &corev1.Service{}
		return present(service, c.client.Get(ctx, kubeapi.Services(namespace), name, service))
	}
	list := &corev1.ServiceList{}
	err := c.client.List(ctx, kubeapi.Services(namespace), kubeapi.Named(name), list)
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// slices returns those that belong to the Service by their label, and those of
// the names, whatever their labels say.
func (c *cluster) slices(ctx context.Context, namespace, service string, names ...string) ([]*discoveryv1.EndpointSlice, error) {
	selections := []metav1.ListOptions{{LabelSelector: labels.Set{discoveryv1.LabelServiceName: service}.String()}}
	for _, name := range names {
		selections = append(selections, kubeapi.Named(name))
	}
	var found []*discoveryv1.EndpointSlice
	seen := make(map[string]bool)
	for _, selection := range selections {
		list := &discoveryv1.EndpointSliceList{}
		if err := c.client.List(ctx, kubeapi.EndpointSlices(namespace), selection, list); err != nil {
			return nil, fmt.Errorf("list the slices: %w", err)
		}
		for i := range list.Items {
			if slice := &list.Items[i]; !seen[slice.Name] {
				seen[slice.Name], found = true, append(found, slice)
			}
		}
	}
	return found, nil
}

// endpoints returns the Endpoints object, nil where there is none.
func (c *cluster) endpoints(ctx context.Context, namespace, name string) (*corev1.Endpoints, error) { //nolint:staticcheck // deprecated; what is left of them is what we look for
	endpoints := &corev1.Endpoints{} //nolint:staticcheck // deprecated; what is left of them is what we look for
	return present(endpoints, c.client.Get(ctx, kubeapi.Endpoints(namespace), name, endpoints))
}

// present turns "not found" into nothing.
func present[T any](object *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil is the answer: there is none
	}
	if err != nil {
		return nil, err
	}
	return object, nil
}
