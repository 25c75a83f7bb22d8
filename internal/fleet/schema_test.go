package fleet_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// edge is an Envoy to which lines are added.
const edge = `apiVersion: fleet.ablmnzde.github.io/v1alpha1
kind: Envoy
metadata: {name: edge}
spec:
  name: edge
  configMapName: edge
  replicas: 1
`

func closed(t *testing.T, w *world) {
	namespace := w.namespace(t, "closed")
	for _, field := range []string{
		"serviceAccountName: admin", "hostNetwork: true", "hostPID: true", "volumes: [{name: a, hostPath: {path: /}}]",
		"securityContext: {runAsUser: 0}", "initContainers: [{name: a, image: a}]", "containers: [{name: a, image: a}]", "automountServiceAccountToken: true",
	} {
		e := parse(t, edge+"  listeners: [{name: http, port: 80, service: web}]\n  podTemplate: {"+field+"}\n")
		e.SetNamespace(namespace)
		name, _, _ := strings.Cut(field, ":")
		err := w.client.Create(t.Context(), e, client.FieldValidation("Strict"))
		if err == nil || !strings.Contains(err.Error(), `unknown field "spec.podTemplate.`+name+`"`) {
			t.Errorf("%s: got %v, want a refusal that names it", field, err)
		}
	}
	// Where unknown fields are only warned of, they have no effect.
	e := parse(t, edge+"  listeners: [{name: http, port: 80, service: web}]\n  podTemplate: {serviceAccountName: admin, hostNetwork: true, priorityClassName: system-cluster-critical}\n")
	e.SetNamespace(namespace)
	w.make(t, e)
	d := w.deployment(t, namespace, "edge", func(*appsv1.Deployment) bool { return true })
	is := d.Spec.Template.Spec
	if is.ServiceAccountName != "" || is.HostNetwork || is.PriorityClassName != "system-cluster-critical" || is.AutomountServiceAccountToken == nil || *is.AutomountServiceAccountToken {
		t.Errorf("got %+v", is)
	}
	// The namespace lets only Pods of the standard restricted come to be.
	w.pods(t, namespace, "edge", 1)
}

func refusals(t *testing.T, w *world) {
	namespace := w.namespace(t, "refusals")
	const listens = "  listeners: [{name: http, port: 80, service: web}]\n"
	for text, want := range map[string]string{
		"": "the Envoys would listen on nothing",
		listens + "  xds: {name: a, host: b, port: 1}\n":                                          "listeners have no effect beside xds",
		"  xds: {name: a, host: b, port: 0}\n":                                                    "spec.xds.port",
		"  xds: {name: a, host: b, port: 65536}\n":                                                "spec.xds.port",
		"  xds: {name: a, port: 1}\n":                                                             "spec.xds.host",
		listens + "  image: envoyproxy/envoy:v1.39.0\n":                                           "spec.image",
		listens + "  replicas: -1\n":                                                              "spec.replicas",
		listens + "  drainTimeout: 1s\n":                                                          "drainTimeout is 5s to 1h",
		listens + "  service: {type: ExternalName}\n":                                             "spec.service.type",
		listens + "  service: {externalTrafficPolicy: Local}\n":                                   "externalTrafficPolicy needs type",
		listens + "  service: {loadBalancerClass: a}\n":                                           "need type LoadBalancer",
		"  listeners: [{name: a, port: 80}]\n":                                                    "a listener leads to one Service",
		"  listeners: [{name: a, port: 80, service: web, httpsRedirectPort: 443}]\n":              "a listener leads to one Service",
		"  listeners: [{name: a, port: 9901, service: web}]\n":                                    "the ports 9901 and 9902",
		"  listeners: [{name: health, port: 80, service: web}]\n":                                 "health is the port of Envoy's own pages",
		"  listeners: [{name: a, port: 80, service: A/b}]\n":                                      "spec.listeners[0].service",
		"  listeners: [{name: a, port: 80, service: web}, {name: b, port: 8080, service: web}]\n": "two listeners have the same port",
		"  listeners: [{name: a, port: 80, service: web}, {name: a, port: 81, service: web}]\n":   "Duplicate value",
		"  listeners: [{name: a, port: 80, protocol: TCP, routes: [{service: web}]}]\n":           "need protocol HTTP",
		"  listeners: [{name: a, port: 80, routes: [{service: web, pathPrefix: api}]}]\n":         "pathPrefix",
		"  listeners: [{name: a, port: 80, routes: [{service: web, hosts: [\"a.*\"]}]}]\n":        "hosts[0]",
		"  listeners: [{name: a, port: 80, httpsRedirectPort: 443, tls: {secretNames: [a]}}]\n":   "is HTTPS already",
		"  listeners: [{name: a, port: 80, service: web, tls: {secretNames: []}}]\n":              "secretNames",
		"  listeners: [{name: a, port: 80, service: web, tls: {secretNames: [../a]}}]\n":          "secretNames[0]",
		listens + "  certificateSecretName: a/b\n":                                                "spec.certificateSecretName",
		listens + "  ipFamily: IPv6\n":                                                            "spec.ipFamily",
		listens + "  service: {ipFamilyPolicy: Both}\n":                                           "spec.service.ipFamilyPolicy",
		listens + "  accessLog: Some\n":                                                           "spec.accessLog",
		listens + "  maxConnections: 0\n":                                                         "spec.maxConnections",
	} {
		replicas := edge
		if strings.Contains(text, "replicas") {
			replicas = strings.Replace(edge, "  replicas: 1\n", "", 1)
		}
		e := parse(t, replicas+text)
		e.SetNamespace(namespace)
		if err := w.client.Create(t.Context(), e); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s got %v\nwant a refusal with %q", text, err, want)
		}
	}
	e := parse(t, edge+listens)
	e.SetNamespace(namespace)
	w.make(t, e)
	for _, field := range []string{"name", "configMapName"} {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"`+field+`":"other"}}`))
		if err := w.client.Patch(t.Context(), e, patch); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec."+field+" does not change") {
			t.Errorf("another %s: got %v", field, err)
		}
	}
	w.deployment(t, namespace, "edge", func(*appsv1.Deployment) bool { return true })
	if w.get(t, namespace, "other", &corev1.ConfigMap{}) {
		t.Error("there is a second ConfigMap")
	}
}
