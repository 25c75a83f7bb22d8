package preflight

import (
	"cmp"
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// requestTimeout bounds one request.
const requestTimeout = 8 * time.Second

// cluster asks an API server. It only reads; a review creates nothing either.
type cluster struct {
	client *kube.Client
	host   string
	expiry kube.Expiry
	// secrets must not appear in the report.
	secrets []string
	// user is who we are to the server.
	user string
}

func open(way kube.Way) (*cluster, error) {
	access, _, err := way.Snapshot()
	if err != nil {
		return nil, err
	}
	client, err := kube.Open(kube.Options{Way: kube.Fixed(access), Timeout: requestTimeout})
	secrets := []string{access.BearerToken, access.Password}
	return &cluster{client: client, host: access.Host, expiry: kube.ExpiryOf(access), secrets: secrets}, err
}

// whoami asks for the user name that the server knows us by.
func (c *cluster) whoami(ctx context.Context) error {
	answer := &authenticationv1.SelfSubjectReview{}
	err := c.client.Create(ctx, kube.SubjectReviews(), &authenticationv1.SelfSubjectReview{}, answer)
	c.user = cmp.Or(answer.Status.UserInfo.Username, "the daemon's user")
	return err
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
