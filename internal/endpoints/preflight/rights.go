package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
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

// Needed returns exactly the rights that the daemon needs in a namespace of the local
// cluster. Rights to Services and to update slices may be limited to names; an empty name
// stands for all.
func Needed(c settings.Config, namespace, service string, slices []string) []Right {
	var rights []Right
	add := func(id ID, group, resource, name string, verbs ...string) {
		for _, verb := range verbs {
			rights = append(rights, Right{id, verb, group, resource, namespace, name})
		}
	}
	const resource = "endpointslices"
	switch c.Store.Kind {
	case settings.StoreClientGo:
		add(RightsServices, "", "services", service, "list", "watch")
		add(RightsSlices, discoveryv1.GroupName, resource, "", "list", "watch", "create")
	case settings.StoreKubectl:
		add(RightsServices, "", "services", service, "get")
		add(RightsSlices, discoveryv1.GroupName, resource, "", "list", "create")
		for _, slice := range slices {
			add(RightsSlices, discoveryv1.GroupName, resource, slice, "get")
		}
	case settings.StoreMemory:
		return nil
	}
	for _, slice := range slices {
		add(RightsSlices, discoveryv1.GroupName, resource, slice, "update")
	}
	if c.Leader.Election && c.Leader.Namespace == namespace {
		rights = append(rights, OfLease(c)...)
	}
	add(RightsEvents, eventsv1.GroupName, "events", "", "create")
	return rights
}

// OfLease are the rights to the Lease.
func OfLease(c settings.Config) []Right {
	of := Right{RightsLeases, "", coordinationv1.GroupName, "leases", c.Leader.Namespace, c.Leader.Name}
	var rights []Right
	for _, verb := range []string{"list", "watch", "update", "create"} {
		if of.Verb = verb; verb == "create" {
			of.Name = "" // RBAC cannot limit it to a name
		}
		rights = append(rights, of)
	}
	return rights
}

// in reports whether one of the rules gives the right.
func (r Right) in(rules []authorizationv1.ResourceRule) bool {
	has := func(list []string, value string) bool {
		return slices.Contains(list, value) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
		return has(rule.Verbs, r.Verb) && has(rule.APIGroups, r.Group) && has(rule.Resources, r.Resource) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
	})
}

// remote are the rights that the source needs in the remote cluster.
func remote() []Right {
	return []Right{{SourceRight, "list", "", "nodes", "", ""}, {SourceRight, "watch", "", "nodes", "", ""}}
}

// ofRights is what was found of the rights in all namespaces.
func (l *look) ofRights() []Check {
	const subject = "rights"
	switch {
	case !l.looksAt(Rights):
		return nil
	case l.Local == nil:
		return []Check{RightsSlices.skip(subject, memory)}
	case !l.api.answers:
		return []Check{RightsSlices.skip(subject, "the API server cannot be asked")}
	}
	checks := l.lease
	for _, s := range l.spaces {
		if len(l.spaces) > 1 && !slices.ContainsFunc(s.rights, func(c Check) bool { return c.Result != OK }) {
			checks = append(checks, RightsSlices.ok("rights in "+s.name, "all %d are granted", len(s.rights)))
			continue
		}
		checks = append(checks, s.rights...)
	}
	return checks
}

// judgeRights says of each right whether we have it. The server is asked once, for all that
// we may do in a namespace: it lists what RBAC gives.
func (c *cluster) judgeRights(ctx context.Context, user, namespace string, rights []Right) []Check {
	listed, err := c.rules(ctx, namespace)
	var missing []Right
	for _, right := range rights {
		if !right.in(listed.ResourceRules) {
			missing = append(missing, right)
		}
	}
	checks := make([]Check, len(rights))
	for i, right := range rights {
		switch subject := right.String(); {
		case apierrors.IsForbidden(err):
			checks[i] = right.id.skip(subject, "unknown, because %s may not ask the API server for its rights: %v", user, err)
		case err != nil:
			checks[i] = right.id.fail(subject, "the API server does not answer: %v", err).remedied("see why the API server does not answer, and try again")
		case !slices.Contains(missing, right):
			checks[i] = right.id.ok(subject, "granted")
		case listed.Incomplete:
			checks[i] = right.id.skip(subject, "unknown: RBAC does not give it, and the API server does not list what other authorizers give")
		default:
			checks[i] = right.missing(user, missing)
		}
	}
	return checks
}

// missing says what is to be done about a right that is missing. Without the right to
// Events the daemon works, so that is a warning. One remedy grants all missing rights of a
// resource.
func (r Right) missing(user string, missing []Right) Check {
	message := cmp.Or(user, "the daemon's user") + " may not"
	if r.id == RightsEvents {
		return r.id.warn(r.String(), "%s, so what happens is logged but not reported by Events", message).remedied("grant " + r.rule(missing) + " to the daemon's Role")
	}
	role := "Role in " + r.Namespace
	if r.Namespace == "" {
		role = "ClusterRole in the remote cluster"
	}
	return r.id.fail(r.String(), "%s", message).remedied("grant " + r.rule(missing) + " by a " + role)
}

// needed are the rights that the daemon needs in a namespace: by the names of Service and
// slices where it has them so.
func (l *look) needed(s *space, targets []publish.Target) []Right {
	if !l.alone() {
		return Needed(l.Config, s.name, "", []string{""})
	}
	var service string
	var names []string
	for _, t := range targets {
		service = t.Service
		names = append(names, sliceNames(s.slices, t, l.candidates(t))...)
	}
	return Needed(l.Config, s.name, service, slices.Compact(names))
}

// candidates are the eligible endpoints of the pool of a target.
func (l *look) candidates(t publish.Target) []inventory.Candidate {
	for _, p := range l.pools {
		if t.Pool == "" || p.document.Name == t.Pool {
			return p.candidates
		}
	}
	return nil
}

// sliceNames are the slices that the daemon keeps: its own that exist, and for each
// family the first and the last slice that the eligible endpoints will need.
func sliceNames(objects []*discoveryv1.EndpointSlice, t publish.Target, candidates []inventory.Candidate) []string {
	needed := map[publish.Family]int{publish.IPv4: 0}
	if len(candidates) > 0 {
		needed = make(map[publish.Family]int)
	}
	for _, c := range candidates {
		needed[publish.FamilyOf(c.Address)]++
	}
	var names []string
	for _, s := range manifest.State(publish.Service{}, objects, t).Slices {
		names = append(names, s.Name)
	}
	for family, count := range needed {
		names = append(names, t.NameOf(family, 1), t.NameOf(family, max(1, (count+t.MaxEndpoints-1)/t.MaxEndpoints)))
	}
	slices.SortFunc(names, t.CompareNames)
	return slices.Compact(names)
}
