package preflight

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// apiView is what the local API server showed.
type apiView struct {
	cluster *cluster
	// answers says that the server answers.
	answers bool
	user    string

	service    *corev1.Service
	serviceErr error
	slices     []*discoveryv1.EndpointSlice
	slicesErr  error
	endpoints  *corev1.Endpoints //nolint:staticcheck // deprecated; what is left of them is what we look for
	// endpointsErr is often "forbidden": the daemon needs no right to read them.
	endpointsErr error
}

func (v apiView) close() {
	if v.cluster != nil {
		v.cluster.close()
	}
}

// memory is why no cluster is checked with that store.
const memory = "STORE_KIND=memory prints the slices and uses no API server"

// askLocal asks the local API server for the name of our user and for the objects.
func (o Options) askLocal(ctx context.Context, f *finding) []Check {
	const subject = "local API server"
	switch {
	case !o.Asks(API):
		return nil
	case o.Local == nil:
		return []Check{APIReachable.skip(subject, memory)}
	}
	defer o.slow("asking the local API server")()
	access, _, err := o.Local.Snapshot()
	if err != nil {
		return []Check{APIAccess.fail(subject, "%v", err)}
	}
	v, credential := &f.api, JudgeCredential(APIExpiry, kubeapi.ExpiryOf(access), time.Now())
	if v.cluster, err = newCluster(kubeapi.Fixed(access)); err != nil {
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
	var user string
	var userErr error
	target, verb := o.Target, "list"
	if o.Config.Store.Kind == config.StoreKubectl {
		verb = "get"
	}
	together(
		func() { user, userErr = v.cluster.whoami(ctx) },
		func() {
			v.service, v.serviceErr = v.cluster.service(ctx, verb, target.Namespace, target.Service)
		},
		func() {
			v.slices, v.slicesErr = v.cluster.slices(ctx, target.Namespace, target.Service, target.NameOf(plan.IPv4, 1), target.NameOf(plan.IPv6, 1))
		},
		func() {
			v.endpoints, v.endpointsErr = v.cluster.endpoints(ctx, target.Namespace, target.Service)
		},
	)
	v.user = user
	return []Check{reachable(access.Host, version, nil), credential, identity(user, userErr)}
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

// askRights asks for each right that the daemon needs whether we have it.
func (o Options) askRights(ctx context.Context, f *finding) []Check {
	const subject = "rights"
	switch {
	case !o.looksAt(Rights):
		return nil
	case o.Local == nil:
		return []Check{RightsSlices.skip(subject, memory)}
	case !f.api.answers:
		return []Check{RightsSlices.skip(subject, "the API server cannot be asked")}
	}
	defer o.slow("asking for the rights")()
	return judgeRights(ctx, f.api.cluster, f.api.user, Needed(o.Config, o.sliceNames(f)))
}

// judgeRights asks for all at the same time.
func judgeRights(ctx context.Context, c *cluster, user string, rights []Right) []Check {
	permissions := make([]permission, len(rights))
	var running sync.WaitGroup
	for i, right := range rights {
		running.Go(func() {
			allowed, said, err := c.may(ctx, right)
			permissions[i] = permission{right, allowed, said, err}
		})
	}
	running.Wait()
	missing := denied(permissions)
	checks := make([]Check, len(rights))
	for i, r := range permissions {
		checks[i] = judgeRight(r, user, missing)
	}
	return checks
}

// sliceNames are the slices that the daemon keeps: its own that exist, and for each
// family the first and the last slice that the eligible endpoints will need. Where no
// endpoint is eligible, the subnets tell the families.
func (o Options) sliceNames(f *finding) []string {
	needed := map[plan.Family]int{}
	for _, c := range f.candidates {
		needed[plan.FamilyOf(c.Address)]++
	}
	if len(needed) == 0 {
		for _, subnet := range o.Rules.Subnets {
			needed[plan.FamilyOf(subnet.Addr())] = 1
		}
	}
	var names []string
	for _, s := range manifest.State(plan.Service{}, f.api.slices, o.Target).Slices {
		names = append(names, s.Name)
	}
	for family, candidates := range needed {
		last := (candidates + o.Target.MaxEndpoints - 1) / o.Target.MaxEndpoints
		names = append(names, o.Target.NameOf(family, 1), o.Target.NameOf(family, last))
	}
	slices.SortFunc(names, o.Target.CompareNames)
	return slices.Compact(names)
}

// judgeObjects judges the Service and the slices.
func (o Options) judgeObjects(f *finding) []Check {
	why := "the API server cannot be asked"
	if o.Local == nil {
		why = memory
	}
	service, ours := "Service "+o.Target.Namespace+"/"+o.Target.Service, "slices of "+o.Target.Service
	if !f.api.answers {
		return []Check{ServicePresent.skip(service, "%s", why), SlicesOurs.skip(ours, "%s", why)}
	}
	var checks []Check
	if err := f.api.serviceErr; err != nil {
		checks = append(checks, unread(ServicePresent, service, err, f.rights))
	} else {
		checks = append(checks, JudgeService(f.api.service, o.Target, f.candidates)...)
	}
	known := manifest.ServiceOf(f.api.service)
	if err := f.api.slicesErr; err != nil {
		checks = append(checks, unread(SlicesOurs, ours, err, f.rights))
	} else {
		checks = append(checks, JudgeSlices(known, f.api.slices, o.Target)...)
	}
	return append(checks, JudgeEndpoints(known, f.api.endpoints, f.api.endpointsErr, o.Target, Ready(f.api.slices, o.Target)))
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
func (o Options) askRemote(ctx context.Context) []Check {
	if o.Remote == nil || !o.looksAt(Source) {
		return nil
	}
	defer o.slow("asking the remote API server")()
	const subject = "rights in the remote cluster"
	access, _, err := o.Remote.Snapshot()
	if err != nil {
		return []Check{SourceRight.skip(subject, "%v", err)}
	}
	c, err := newCluster(kubeapi.Fixed(access))
	if err != nil {
		return []Check{SourceRight.skip(subject, "%v", err)}
	}
	defer c.close()
	credential := []Check{JudgeCredential(SourceExpiry, kubeapi.ExpiryOf(access), time.Now())}
	if _, err := c.version(ctx); err != nil && !apierrors.IsForbidden(err) {
		return append(credential, SourceRight.skip(subject, "the remote API server cannot be asked: %v", err))
	}
	user, _ := c.whoami(ctx)
	return append(credential, judgeRights(ctx, c, user, remote())...)
}
