package publish

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// mostPorts is one more than a target has.
	mostPorts = 101
	// mostOfText is one more than the texts that are ours have: zones, and values of labels.
	mostOfText = 64
)

// OwnFields returns a slice with nothing but what ToSlice reads of it, and without its
// endpoints: what others write into a slice has no bound of its own. Where there is more of
// a field than there should be, enough is left to see that.
func OwnFields(object *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	kept := &discoveryv1.EndpointSlice{AddressType: object.AddressType, Ports: object.Ports[:min(len(object.Ports), mostPorts)]}
	kept.Namespace, kept.Name, kept.ResourceVersion = object.Namespace, object.Name, object.ResourceVersion
	for _, label := range []string{discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, LabelPool} {
		if value, ok := object.Labels[label]; ok {
			metav1.SetMetaDataLabel(&kept.ObjectMeta, label, value)
		}
	}
	for _, annotation := range []string{publishNotReady, corev1.EndpointsLastChangeTriggerTime} {
		if value, ok := object.Annotations[annotation]; ok {
			metav1.SetMetaDataAnnotation(&kept.ObjectMeta, annotation, cut(value))
		}
	}
	for _, owner := range object.OwnerReferences {
		if owner.Kind == "Service" && len(kept.OwnerReferences) < mostPorts {
			kept.OwnerReferences = append(kept.OwnerReferences, owner)
		}
	}
	return kept
}

// Reduce takes from endpoints what ToSlice does not read of them.
func Reduce(endpoints []discoveryv1.Endpoint) {
	for i := range endpoints {
		e := &endpoints[i]
		e.Addresses = e.Addresses[:min(len(e.Addresses), 2)]
		if e.Hostname != nil {
			e.Hostname = new("")
		}
		if e.NodeName != nil {
			e.NodeName = new("")
		}
		if e.TargetRef != nil {
			e.TargetRef = &corev1.ObjectReference{}
		}
		if e.Hints != nil {
			e.Hints = &discoveryv1.EndpointHints{}
		}
		if e.DeprecatedTopology != nil {
			e.DeprecatedTopology = map[string]string{"": ""}
		}
		if e.Zone != nil && len(*e.Zone) > mostOfText {
			e.Zone = new(cut(*e.Zone))
		}
	}
}

// cut cuts a text that is longer than any of ours.
func cut(text string) string { return text[:min(len(text), mostOfText)] }
