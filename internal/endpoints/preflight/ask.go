package preflight

import (
	"cmp"
	"context"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// memory is why no cluster is checked with that store.
const memory = "STORE_KIND=memory prints the slices and uses no API server"

// askLocal asks the local API server who we are, and what is in each namespace.
func (l *look) askLocal(ctx context.Context) []Check {
	const subject = "local API server"
	switch {
	case !l.asks(APIReachable):
		return nil
	case l.Local == nil:
		return []Check{APIReachable.skip(subject, memory)}
	}
	c, err := open(l.Local)
	if err != nil {
		return []Check{APIReachable.fail(subject, "%v", err)}
	}
	l.local = c
	checks := []Check{c.reach(ctx), judgeCredential(APIExpiry, c.expiry, time.Now())}
	if l.answers = checks[0].Result == OK; l.answers {
		checks = append(append(checks, l.askSpaces(ctx)...), l.askReplicas(ctx))
	}
	return checks
}

// reach says whether the server answers, and which user it knows us as. Some servers do not
// tell that to everybody.
func (c *cluster) reach(ctx context.Context) Check {
	answer := &authenticationv1.SelfSubjectReview{}
	err := c.client.Create(ctx, kube.SubjectReviews(), &authenticationv1.SelfSubjectReview{}, answer)
	c.user = cmp.Or(answer.Status.UserInfo.Username, "the daemon's user")
	anonymous := c.user == "system:anonymous" || err != nil && strings.Contains(err.Error(), "system:anonymous")
	switch {
	case anonymous:
		return APIReachable.fail(c.host, "the API server knows this program as system:anonymous: the kubeconfig holds no credentials that the server accepts")
	case apierrors.IsUnauthorized(err):
		return APIReachable.fail(c.host, "the API server answers, but does not accept the credentials: %v", err).
			remedied("renew the credentials in KUBECONFIG, or those of the Pod's ServiceAccount")
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return APIReachable.ok(c.host, "answers, but does not say which user this program is: %v", err)
	case err != nil:
		return APIReachable.fail(c.host, "%v", err)
	}
	return APIReachable.ok(c.host, "answers, and knows this program as %s", c.user)
}

// askRemote asks the API server of the remote cluster for the rights of the
// source, and the access itself how long it will be accepted.
func (p *pool) askRemote(ctx context.Context) []Check {
	c, err := open(p.origin.Remote)
	if err != nil {
		return []Check{SourceRight.skip("rights in the remote cluster", "%v", err)}
	}
	defer c.client.Close()
	p.origin.Secrets = append(p.origin.Secrets, c.secrets...)
	c.user = "the user of SECURED_KUBECONFIG"
	nodes := right{resource: "nodes", names: []string{""}, verbs: []string{"list", "watch"}}
	return append(c.judgeRights(ctx, SourceRight, nowhere, []right{nodes}), judgeCredential(SourceExpiry, c.expiry, time.Now()))
}
