package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish/manifest"
)

// JudgeService says whether the Service, nil where there is none, is one that
// the slices can fill with the candidates. The notices are what the daemon tells of it.
func JudgeService(object *corev1.Service, target publish.Target, candidates []inventory.Candidate, notices ...assign.Notice) []Check {
	service := manifest.ServiceOf(object)
	name := "Service " + target.Namespace + "/" + target.Service
	if _, problem := publish.Desired(nil, publish.State{Service: service}, target); problem.Kind == publish.ServiceMissing || problem.Kind == publish.ServiceDeleting {
		return []Check{split(ServicePresent, name, problem.Message)}
	}
	checks := []Check{ServicePresent.ok(name, "exists, of type %s", object.Spec.Type)}
	// Each question is asked alone, so that one mistake does not hide the next.
	for _, question := range []struct {
		id      ID
		subject string
		about   publish.Service
		kind    publish.Kind
		answer  string
	}{
		{ServiceType, "type", publish.Service{ExternalName: service.ExternalName}, publish.ServiceExternalName, "not ExternalName"},
		{ServiceSelector, "selector", publish.Service{HasSelector: service.HasSelector}, publish.ServiceHasSelector, "none"},
		{ServicePorts, "ports", publish.Service{Ports: service.Ports}, publish.PortMismatch, ports(target)},
	} {
		question.about.UID = service.UID
		_, problem := publish.Desired(nil, publish.State{Service: question.about}, target)
		if problem.Kind != question.kind {
			checks = append(checks, question.id.ok(question.subject, "%s", question.answer))
			continue
		}
		checks = append(checks, split(question.id, question.subject, problem.Message))
	}
	checks = append(checks, judgeTraits(notices)...)
	return append(checks, judgeFamilies(object, candidates)...)
}

// split makes a failure of a message that ends with its remedy.
func split(id ID, subject, message string) Check {
	what, remedy, _ := strings.Cut(message, "; ")
	return id.fail(subject, "%s", what).remedied(remedy)
}

// ports says which ports of the endpoints fit.
func ports(target publish.Target) string {
	if target.PortFromService {
		return fmt.Sprintf("%d fits one port of the Service", target.Ports[0].Number)
	}
	names := make([]string, len(target.Ports))
	for i, p := range target.Ports {
		names[i] = fmt.Sprintf("%s=%d/%s", p.Name, p.Number, p.Protocol)
	}
	return "the Service has all of " + strings.Join(names, ",")
}

// judgeTraits says what of the Service keeps its clients from the endpoints, as the daemon
// tells it.
func judgeTraits(notices []assign.Notice) []Check {
	checks := []Check{ServiceTraffic.ok("traffic policies", "none is Local")}
	for _, n := range notices {
		what, remedy, _ := strings.Cut(n.Message, "; ")
		switch n.Reason {
		case assign.TrafficPolicyLocal:
			checks[0] = split(ServiceTraffic, "traffic policies", n.Message)
		case assign.TopologyIgnored:
			checks = append(checks, ServiceTopology.warn("topology", "%s", what).remedied(remedy))
		case assign.HeadlessPort:
			checks = append(checks, ServiceHeadless.warn("headless", "%s", what).remedied(remedy))
		case assign.BindingWins, assign.UnknownAnnotation:
			checks = append(checks, ServiceAnnotations.warn("annotations", "%s", what).remedied(remedy))
		}
	}
	return checks
}

// judgeFamilies compares the families of the Service with those of the
// eligible endpoints: those of a family that the Service lacks are never used.
func judgeFamilies(object *corev1.Service, candidates []inventory.Candidate) []Check {
	const subject = "IP families"
	families := make([]string, len(object.Spec.IPFamilies))
	for i, f := range object.Spec.IPFamilies {
		families[i] = string(f)
	}
	has := cmp.Or(strings.Join(families, ", "), "no family")
	if len(families) == 0 || len(candidates) == 0 {
		return []Check{ServiceFamilies.skip(subject, "the Service has %s, and there is no eligible endpoint to compare with", has)}
	}
	fitting := 0
	for _, c := range candidates {
		if slices.Contains(families, publish.FamilyOf(c.Address).String()) {
			fitting++
		}
	}
	switch fitting {
	case len(candidates):
		return []Check{ServiceFamilies.ok(subject, "the Service has %s, and so have all eligible endpoints", has)}
	case 0:
		return []Check{ServiceFamilies.fail(subject, "the Service has only %s, and no endpoint is of that family: %s would be published but never used", has, plural(len(candidates), "endpoint"))}
	}
	return []Check{ServiceFamilies.warn(subject, "the Service has only %s, so %d of %s are published but never used", has, len(candidates)-fitting, plural(len(candidates), "endpoint"))}
}
