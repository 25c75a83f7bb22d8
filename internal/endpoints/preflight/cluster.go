package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// requestTimeout bounds one request.
const requestTimeout = 8 * time.Second

// cluster asks an API server. It only reads; a review creates nothing either.
type cluster struct{ client *kube.Client }

func newCluster(way kube.Way) (*cluster, error) {
	client, err := kube.Open(kube.Options{Way: way, Timeout: requestTimeout})
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
	err := c.client.Create(ctx, kube.SubjectReviews(), &authenticationv1.SelfSubjectReview{}, answer)
	return answer.Status.UserInfo.Username, err
}

// nowhere is the name of no namespace: there only the rights to all namespaces count.
const nowhere = "-"

// rules are all rights that we have in a namespace, as far as the server can list them.
func (c *cluster) rules(ctx context.Context, namespace string) (authorizationv1.SubjectRulesReviewStatus, error) {
	asked := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer := &authorizationv1.SelfSubjectRulesReview{}
	err := c.client.Create(ctx, kube.RulesReviews(), asked, answer)
	return answer.Status, err
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
