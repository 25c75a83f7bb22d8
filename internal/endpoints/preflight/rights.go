package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// right is what the daemon needs to do with objects of one kind.
type right struct {
	group, resource string
	// names are those of the objects; one empty name stands for all.
	names, verbs []string
}

// String spells the right as kubectl auth can-i would.
func (r right) String() string {
	text := strings.Join(r.verbs, ", ") + " " + r.resource
	if r.group != "" {
		text += "." + r.group
	}
	if names := strings.Join(r.names, ", "); names != "" {
		text += "/" + names
	}
	return text
}

// missing is what of the right the rules do not give.
func (r right) missing(rules []authorizationv1.ResourceRule) right {
	has := func(list []string, value string) bool {
		return slices.Contains(list, value) || slices.Contains(list, "*")
	}
	given := func(verb, name string) bool {
		return slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
			return has(rule.Verbs, verb) && has(rule.APIGroups, r.group) && has(rule.Resources, r.resource) &&
				(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name))
		})
	}
	var missing []string
	for _, verb := range r.verbs {
		if slices.ContainsFunc(r.names, func(name string) bool { return !given(verb, name) }) {
			missing = append(missing, verb)
		}
	}
	r.verbs = missing
	return r
}

// needed are exactly the rights that the daemon needs in a namespace of the local cluster.
func (o Options) needed(namespace string, filled bool) []right {
	all, slice := []string{""}, discoveryv1.GroupName
	services, first := o.named(namespace)
	read, list, write := []string{"list", "watch"}, []string{"list", "watch", "create"}, []string{"update"}
	if o.Config.Store.Kind == settings.StoreKubectl {
		read, list, write = []string{"get"}, []string{"list", "create"}, []string{"get", "update"}
	}
	var rights []right
	if filled {
		rights = []right{
			{"", "services", services, read},
			{slice, "endpointslices", all, list},
			{slice, "endpointslices", first, write},
			{eventsv1.GroupName, "events", all, []string{"create"}},
		}
	}
	if leader := o.Config.Leader; leader.Election && leader.Namespace == namespace {
		rights = append(rights,
			right{coordinationv1.GroupName, "leases", []string{leader.Name}, []string{"list", "watch", "update"}},
			right{coordinationv1.GroupName, "leases", []string{leader.Name + lease.RepliesSuffix}, []string{"list", "watch", "update"}},
			right{coordinationv1.GroupName, "leases", all, []string{"create"}}) // RBAC cannot limit it to a name
	}
	return rights
}

// judgeRights says which rights are missing. The server is asked once, for all that we may
// do in a namespace: it lists what RBAC gives. Without Events and the Lease of the replies the
// daemon works, so that is a warning.
func (c *cluster) judgeRights(ctx context.Context, id ID, namespace string, rights []right) []Check {
	where, role := " in "+namespace, "Role"
	if namespace == nowhere {
		where, role = " in the remote cluster", "ClusterRole in the remote cluster"
	}
	listed := &authorizationv1.SelfSubjectRulesReview{}
	asked := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := c.client.Create(ctx, kube.RulesReviews(), asked, listed); err != nil {
		return []Check{id.skip("rights"+where, "not known, because the API server does not list them: %v", err)}
	}
	var checks []Check
	all := make([]string, len(rights))
	for i, r := range rights {
		all[i] = r.String()
		missing := r.missing(listed.Status.ResourceRules)
		subject := missing.String() + where
		remedy := fmt.Sprintf("grant {apiGroups: [%q], resources: [%q], verbs: [\"%s\"]} by a %s", r.group, r.resource, strings.Join(missing.verbs, `", "`), role)
		switch {
		case len(missing.verbs) == 0:
		case listed.Status.Incomplete:
			checks = append(checks, id.skip(subject, "not known: RBAC does not give it, and the API server does not list what other authorizers give"))
		case strings.HasSuffix(r.names[0], lease.RepliesSuffix):
			checks = append(checks, id.warn(subject, "%s may not, so an endpoint that this replica does not reach is down, also where another replica reaches it", c.user).remedied(remedy))
		case r.resource == "events":
			checks = append(checks, id.warn(subject, "%s may not, so the program writes its log, and no Events", c.user).remedied(remedy))
		default:
			checks = append(checks, id.fail(subject, "%s may not", c.user).remedied(remedy))
		}
	}
	if len(checks) == 0 {
		checks = append(checks, id.ok("rights"+where, "%s may %s", c.user, strings.Join(all, "; ")))
	}
	return checks
}
