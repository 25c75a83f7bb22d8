package preflight

import (
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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 8 * time.Second
	// patience is how long a request that was told to end is waited for: an exec
	// plugin of the kubeconfig may not listen.
	patience  = time.Second
	userAgent = "ionos-endpointslice-controller"
)

// cluster asks an API server. It only reads; a review creates nothing either.
type cluster struct {
	core, discovery, reviews, identity *kubeapi.Client
}

func newCluster(config *rest.Config) (*cluster, error) {
	var made []*kubeapi.Client
	for _, options := range []kubeapi.Options{
		{Version: corev1.SchemeGroupVersion, Types: []runtime.Object{&corev1.Service{}, &corev1.ServiceList{}, &corev1.Endpoints{}}}, //nolint:staticcheck // Endpoints are deprecated, and what is left of them is what we look for
		{Version: discoveryv1.SchemeGroupVersion, Types: []runtime.Object{&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}}},
		{Version: authorizationv1.SchemeGroupVersion, Types: []runtime.Object{&authorizationv1.SelfSubjectAccessReview{}}},
		{Version: authenticationv1.SchemeGroupVersion, Types: []runtime.Object{&authenticationv1.SelfSubjectReview{}}},
	} {
		options.UserAgent, options.Timeout = userAgent, requestTimeout
		client, err := kubeapi.New(config, options)
		if err != nil {
			for _, c := range made {
				c.Close()
			}
			return nil, err
		}
		made = append(made, client)
	}
	return &cluster{core: made[0], discovery: made[1], reviews: made[2], identity: made[3]}, nil
}

func (c *cluster) close() {
	for _, client := range []*kubeapi.Client{c.core, c.discovery, c.reviews, c.identity} {
		client.Close()
	}
}

// within runs a request and returns when it is answered, or soon after its time
// is over, whatever it waits for.
func within[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := ask(ctx)
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-timer.C:
		var none T
		return none, errors.New("no answer within the time; an exec plugin of the kubeconfig may hang")
	}
}

// version returns the version that the server says.
func (c *cluster) version(ctx context.Context) (string, error) {
	return within(ctx, func(ctx context.Context) (string, error) {
		body, err := c.core.Get().AbsPath("/version").DoRaw(ctx)
		if err != nil {
			return "", err
		}
		var said struct {
			GitVersion string `json:"gitVersion"`
		}
		if err := json.Unmarshal(body, &said); err != nil || said.GitVersion == "" {
			return "", errors.New("what answers there is no Kubernetes API server: it says no version")
		}
		return said.GitVersion, nil
	})
}

// whoami returns the user name that the server knows us by.
func (c *cluster) whoami(ctx context.Context) (string, error) {
	return within(ctx, func(ctx context.Context) (string, error) {
		answer := &authenticationv1.SelfSubjectReview{}
		err := c.identity.Post().Resource("selfsubjectreviews").Body(&authenticationv1.SelfSubjectReview{}).Do(ctx).Into(answer)
		return answer.Status.UserInfo.Username, err
	})
}

// may reports whether we have a right, and what the server says about it.
func (c *cluster) may(ctx context.Context, right Right) (bool, string, error) {
	type ruling struct {
		allowed bool
		said    string
	}
	got, err := within(ctx, func(ctx context.Context) (ruling, error) {
		answer := &authorizationv1.SelfSubjectAccessReview{}
		err := c.reviews.Post().Resource("selfsubjectaccessreviews").Body(right.review()).Do(ctx).Into(answer)
		said := answer.Status.Reason
		if answer.Status.EvaluationError != "" {
			said = answer.Status.EvaluationError
		}
		return ruling{answer.Status.Allowed, said}, err
	})
	return got.allowed, got.said, err
}

// service returns the Service, nil where there is none. It is read by the verb
// that the store has a right to: "get", or "list" by its name.
func (c *cluster) service(ctx context.Context, verb, namespace, name string) (*corev1.Service, error) {
	return within(ctx, func(ctx context.Context) (*corev1.Service, error) {
		if verb == "get" {
			service := &corev1.Service{}
			err := c.core.Get().Namespace(namespace).Resource("services").Name(name).Do(ctx).Into(service)
			return present(service, err)
		}
		list := &corev1.ServiceList{}
		err := c.core.Get().Namespace(namespace).Resource("services").VersionedParams(named(name), c.core.Codec).Do(ctx).Into(list)
		if err != nil || len(list.Items) == 0 {
			return nil, err
		}
		return &list.Items[0], nil
	})
}

// slices returns those that belong to the Service by their label, and those of
// the names, whatever their labels say.
func (c *cluster) slices(ctx context.Context, namespace, service string, names ...string) ([]*discoveryv1.EndpointSlice, error) {
	selections := []*metav1.ListOptions{{LabelSelector: labels.Set{discoveryv1.LabelServiceName: service}.String()}}
	for _, name := range names {
		selections = append(selections, named(name))
	}
	var found []*discoveryv1.EndpointSlice
	seen := make(map[string]bool)
	for _, selection := range selections {
		list, err := within(ctx, func(ctx context.Context) (*discoveryv1.EndpointSliceList, error) {
			list := &discoveryv1.EndpointSliceList{}
			err := c.discovery.Get().Namespace(namespace).Resource("endpointslices").VersionedParams(selection, c.discovery.Codec).Do(ctx).Into(list)
			return list, err
		})
		if err != nil {
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
func (c *cluster) endpoints(ctx context.Context, namespace, name string) (*corev1.Endpoints, error) { //nolint:staticcheck // see newCluster
	return within(ctx, func(ctx context.Context) (*corev1.Endpoints, error) { //nolint:staticcheck // see newCluster
		endpoints := &corev1.Endpoints{} //nolint:staticcheck // see newCluster
		err := c.core.Get().Namespace(namespace).Resource("endpoints").Name(name).Do(ctx).Into(endpoints)
		return present(endpoints, err)
	})
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

// named selects the one object of that name.
func named(name string) *metav1.ListOptions {
	return &metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
}
