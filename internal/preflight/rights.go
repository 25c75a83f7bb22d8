package preflight

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
)

// Right is one thing that the daemon asks of an API server.
type Right struct {
	id ID
	// Verb, Group and Resource are those of a rule; Namespace is empty for the
	// whole cluster, Name for every object.
	Verb, Group, Resource, Namespace, Name string
}

// String spells the right as kubectl auth can-i would.
func (r Right) String() string {
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	if r.Name != "" {
		resource += "/" + r.Name
	}
	if r.Namespace == "" {
		return r.Verb + " " + resource
	}
	return fmt.Sprintf("%s %s in %s", r.Verb, resource, r.Namespace)
}

// rule is what a Role has to hold for the right, and for the others of its
// resource.
func (r Right) rule(others []Right) string {
	var verbs []string
	for _, o := range append([]Right{r}, others...) {
		if verb := strconv.Quote(o.Verb); o.Group == r.Group && o.Resource == r.Resource && o.Namespace == r.Namespace {
			verbs = append(verbs, verb)
		}
	}
	slices.Sort(verbs)
	return fmt.Sprintf("{apiGroups: [%q], resources: [%q], verbs: [%s]}", r.Group, r.Resource, strings.Join(slices.Compact(verbs), ", "))
}

func (r Right) review() *authorizationv1.SelfSubjectAccessReview {
	return &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.Verb, Group: r.Group, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name,
		},
	}}
}

// Needed returns exactly the rights that the daemon needs in the local cluster.
// slices are the names of the slices that it keeps; only the rights to update can be
// limited to them.
func Needed(c config.Config, slices []string) []Right {
	var rights []Right
	add := func(id ID, group, resource, namespace, name string, verbs ...string) {
		for _, verb := range verbs {
			rights = append(rights, Right{id, verb, group, resource, namespace, name})
		}
	}
	namespace, service := c.Target.Namespace, c.Target.ServiceName
	const resource = "endpointslices"
	switch c.Store.Kind {
	case config.StoreClientGo:
		add(RightsServices, "", "services", namespace, service, "list", "watch")
		add(RightsSlices, discoveryv1.GroupName, resource, namespace, "", "list", "watch", "create")
	case config.StoreKubectl:
		add(RightsServices, "", "services", namespace, service, "get")
		add(RightsSlices, discoveryv1.GroupName, resource, namespace, "", "list", "create")
		for _, slice := range slices {
			add(RightsSlices, discoveryv1.GroupName, resource, namespace, slice, "get")
		}
	case config.StoreMemory:
		return nil
	}
	for _, slice := range slices {
		add(RightsSlices, discoveryv1.GroupName, resource, namespace, slice, "update")
	}
	if c.Leader.Election {
		add(RightsLeases, coordinationv1.GroupName, "leases", c.Leader.Namespace, c.Leader.Name, "list", "watch", "update")
		add(RightsLeases, coordinationv1.GroupName, "leases", c.Leader.Namespace, "", "create")
	}
	add(RightsEvents, eventsv1.GroupName, "events", namespace, "", "create")
	return rights
}

// remote are the rights that the source needs in the remote cluster.
func remote() []Right {
	return []Right{{SourceRight, "list", "", "nodes", "", ""}, {SourceRight, "watch", "", "nodes", "", ""}}
}

// permission is what the API server says of a right.
type permission struct {
	Right
	allowed bool
	said    string
	err     error
}

// denied returns the rights that are missing.
func denied(permissions []permission) []Right {
	var rights []Right
	for _, r := range permissions {
		if r.err == nil && !r.allowed {
			rights = append(rights, r.Right)
		}
	}
	return rights
}

// judgeRight says whether the daemon has a right. Without the right to Events the
// daemon works, so that is a warning. One remedy grants all missing rights of a
// resource.
func judgeRight(r permission, user string, missing []Right) Check {
	if user == "" {
		user = "the daemon's user"
	}
	switch {
	case apierrors.IsForbidden(r.err):
		return r.id.skip(r.String(), "unknown, because %s may not ask the API server for its rights: %v", user, r.err)
	case r.err != nil:
		return r.id.fail(r.String(), "the API server does not answer: %v", r.err).remedied("see why the API server does not answer, and try again")
	case r.allowed:
		return r.id.ok(r.String(), "granted")
	}
	message := user + " may not"
	if r.said != "" {
		message += " (" + r.said + ")"
	}
	if r.id == RightsEvents {
		return r.id.warn(r.String(), "%s, so what happens is logged but not reported by Events", message).remedied("grant " + r.rule(missing) + " to the daemon's Role")
	}
	role := "Role in " + r.Namespace
	if r.Namespace == "" {
		role = "ClusterRole in the remote cluster"
	}
	return r.id.fail(r.String(), "%s", message).remedied("grant " + r.rule(missing) + " by a " + role)
}
