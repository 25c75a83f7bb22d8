package preflight

import (
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// apiView is what the local API server showed.
type apiView struct {
	cluster *cluster
	// answers says that the server answers.
	answers bool
	user    string
	// labels are those of namespaces, where a pool selects by them.
	labels map[string]map[string]string
}

func (v apiView) close() {
	if v.cluster != nil {
		v.cluster.close()
	}
}

// memory is why no cluster is checked with that store.
const memory = "STORE_KIND=memory prints the slices and uses no API server"

// askLocal asks the local API server for the name of our user and for the Services of
// each namespace.
func (l *look) askLocal(ctx context.Context) []Check {
	const subject = "local API server"
	switch {
	case !l.Asks(API):
		return nil
	case l.Local == nil:
		return []Check{APIReachable.skip(subject, memory)}
	}
	defer l.slow("asking the local API server")()
	access, _, err := l.Local.Snapshot()
	if err != nil {
		return []Check{APIAccess.fail(subject, "%v", err)}
	}
	v, credential := &l.api, JudgeCredential(APIExpiry, kube.ExpiryOf(access), time.Now())
	if v.cluster, err = newCluster(kube.Fixed(access)); err != nil {
		return []Check{APIAccess.fail(subject, "%v", err)}
	}
	version, err := v.cluster.version(ctx)
	if apierrors.IsForbidden(err) {
		version, err = "of an unknown version", nil
	}
	if err != nil {
		return []Check{reachable(access.Host, "", err), credential}
	}
	v.answers = true
	var userErr error
	v.user, userErr = v.cluster.whoami(ctx)
	return append([]Check{reachable(access.Host, version, nil), credential, identity(v.user, userErr)}, l.findSpaces(ctx)...)
}

// reachable says whether the server answers, and what.
func reachable(host, version string, err error) Check {
	switch {
	case apierrors.IsUnauthorized(err):
		return APIReachable.fail(host, "the API server answers, but does not accept the credentials: %v", err).
			remedied("renew the credentials in KUBECONFIG, or those of the Pod's ServiceAccount")
	case err != nil:
		return APIReachable.fail(host, "%v", err)
	}
	return APIReachable.ok(host, "answers, Kubernetes %s", version)
}

// identity says which user the API server takes us for.
func identity(user string, err error) Check {
	const subject = "identity"
	anonymous := user == "system:anonymous" || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "system:anonymous")
	switch {
	case anonymous:
		return APIIdentity.fail(subject, "the API server takes this program for system:anonymous: the kubeconfig holds no credentials that the server accepts")
	case err != nil:
		return APIIdentity.skip(subject, "the API server does not name the user: %v", err)
	}
	return APIIdentity.ok(subject, "%s", user)
}

// unread says that an object could not be read. If a right is missing, the checks of
// the rights have said so already: that is one mistake, not two.
func unread(id ID, subject string, err error, rights []Check) Check {
	told := slices.ContainsFunc(rights, func(c Check) bool { return c.Result == Fail })
	if told && apierrors.IsForbidden(err) {
		return id.skip(subject, "cannot be read, because the right is missing: %v", err)
	}
	return id.fail(subject, "cannot be read: %v", err).remedied("find out why the API server does not answer, and try again")
}

// askRemote asks the API server of the remote cluster for the rights of the
// source, and the access itself how long it will be accepted.
func (o Options) askRemote(ctx context.Context, way kube.Way) []Check {
	if way == nil || !o.looksAt(Source) {
		return nil
	}
	defer o.slow("asking the remote API server")()
	const subject = "rights in the remote cluster"
	access, _, err := way.Snapshot()
	if err != nil {
		return []Check{SourceRight.skip(subject, "%v", err)}
	}
	c, err := newCluster(kube.Fixed(access))
	if err != nil {
		return []Check{SourceRight.skip(subject, "%v", err)}
	}
	defer c.close()
	credential := []Check{JudgeCredential(SourceExpiry, kube.ExpiryOf(access), time.Now())}
	if _, err := c.version(ctx); err != nil && !apierrors.IsForbidden(err) {
		return append(credential, SourceRight.skip(subject, "the remote API server cannot be asked: %v", err))
	}
	user, _ := c.whoami(ctx)
	return append(credential, c.judgeRights(ctx, user, nowhere, remote())...)
}
