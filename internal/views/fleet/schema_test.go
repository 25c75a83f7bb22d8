package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
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
		"  listeners: [{name: a, port: 80, routes: [{service: web, requestTimeout: -1s}]}]\n":     "requestTimeout is 0s to 24h",
		"  listeners: [{name: a, port: 80, routes: [{service: web, idleTimeout: 25h}]}]\n":        "idleTimeout is 0s to 24h",
		"  listeners: [{name: a, port: 80, routes: [{service: web, requestTimeout: soon}]}]\n":    "spec.listeners[0].routes[0].requestTimeout",
		"  xds: {name: a, host: no host !, port: 1}\n":                                            "spec.xds.host",
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
		// The definition of the kind may be an older one, so what serve reads is checked there
		// again. It does not read the names of listeners.
		if !strings.HasPrefix(text, listens) && strings.HasPrefix(text, "  listeners:") && !strings.Contains(text, "name: health") && !strings.Contains(want, "Duplicate value") || strings.HasPrefix(text, "  xds:") {
			if _, err := envoyconfig.FromObject(read(t, e)); err == nil {
				t.Errorf("%s the API server refuses it, and serve does not", text)
			}
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

// read is an object as programs read it.
func read(t *testing.T, object *unstructured.Unstructured) *v1alpha1.Envoy {
	t.Helper()
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	e := &v1alpha1.Envoy{}
	if err := json.Unmarshal(text, e); err != nil {
		t.Fatal(err)
	}
	return e
}

// mistakes are what the API server lets pass, and what is said of them.
var mistakes = map[string]string{
	"listeners: [{name: http, port: 80, routes: [{service: web}, {service: api}]}]":                                `listener "http" has a mistake in route 2, which is for host "" and path "/" like another route`,
	"podTemplate: {resources: {limits: {cpu: 1e1.5}}}\n  listeners: [{name: http, port: 80, service: web}]":        "spec.podTemplate cannot be read: quantities must match",
	"listeners: [{name: http, port: 80, routes: [{service: web, pathPrefix: /a}, {service: b, pathPrefix: /a/}]}]": "like another route",
}

func unaccepted(t *testing.T, w *world) {
	namespace := w.namespace(t, "unaccepted")
	good := "  listeners: [{name: http, port: 80, service: web}]\n"
	n := 0
	for text, want := range mistakes {
		n++
		name := fmt.Sprintf("edge-%d", n)
		edge := strings.ReplaceAll(edge, "edge", name)
		e := parse(t, edge+good)
		e.SetNamespace(namespace)
		w.make(t, e)
		pods := w.pods(t, namespace, name, 1)
		w.ready(t, pods)
		w.said.says(t, namespace+"/"+name, envoyconfig.ProxyState{Node: pods[0].Name, Generation: 1})
		w.awaitCondition(t, namespace, name, v1alpha1.ConditionSynced, "True", v1alpha1.ReasonAcknowledged)
		w.awaitCondition(t, namespace, name, v1alpha1.ConditionAccepted, "True", v1alpha1.ReasonAccepted)
		// A mistake beside another port: the Service has to go on leading to the listeners that serve keeps.
		wrong := parse(t, edge+"  "+strings.ReplaceAll(text, "port: 80,", "port: 81,")+"\n")
		w.replace(t, namespace, wrong)
		w.awaitCondition(t, namespace, name, v1alpha1.ConditionAccepted, "False", v1alpha1.ReasonInvalid)
		w.awaitMessage(t, namespace, name, v1alpha1.ConditionAccepted, want, "the last accepted generation stays in effect")
		w.awaitCondition(t, namespace, name, v1alpha1.ConditionSynced, "False", v1alpha1.ReasonNotAccepted)
		w.awaitCondition(t, namespace, name, v1alpha1.ConditionReady, "True", v1alpha1.ReasonPodsReady)
		service := &corev1.Service{}
		if w.get(t, namespace, name, service); len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 80 {
			t.Errorf("%s: the Service leads elsewhere: %+v", text, service.Spec.Ports)
		}
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
		if err := w.client.SubResource("scale").Update(t.Context(), e, client.WithSubResourceBody(scale)); err != nil {
			t.Fatal(err)
		}
		w.pods(t, namespace, name, 2)
		// Others go on.
		w.make(t, simple(namespace, "other-"+name, 1))
		w.pods(t, namespace, "other-"+name, 1)
		w.replace(t, namespace, parse(t, edge+strings.ReplaceAll(good, "port: 80,", "port: 82,")))
		w.awaitCondition(t, namespace, name, v1alpha1.ConditionAccepted, "True", v1alpha1.ReasonAccepted)
		await(t, "the Service has the port of the next version", func() string {
			if w.get(t, namespace, name, service); len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 82 {
				return "it has not"
			}
			return ""
		})
	}
	// Of a new one nothing is made.
	e := parse(t, edge+"  listeners: [{name: http, port: 80, routes: [{service: web}, {service: api}]}]\n")
	e.SetNamespace(namespace)
	w.make(t, e)
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionReady, "False", v1alpha1.ReasonInvalid)
}

// replace makes the spec of an Envoy another one.
func (w *world) replace(t *testing.T, namespace string, e *unstructured.Unstructured) {
	t.Helper()
	await(t, "the Envoy is replaced", func() string {
		is := &v1alpha1.Envoy{}
		w.get(t, namespace, e.GetName(), is)
		e.SetNamespace(namespace)
		e.SetResourceVersion(is.ResourceVersion)
		if err := w.client.Update(t.Context(), e); err != nil {
			return err.Error()
		}
		return ""
	})
}
