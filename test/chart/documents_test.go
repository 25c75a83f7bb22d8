package chart_test

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// The objects of the Prometheus Operator, as far as the chart writes them.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		JobLabel  string               `json:"jobLabel,omitempty"`
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port, Path, Interval, ScrapeTimeout string
			Relabelings                         []map[string]any
		}
	} `json:"spec"`
}

type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		JobLabel          string               `json:"jobLabel"`
		Selector          metav1.LabelSelector `json:"selector"`
		NamespaceSelector struct {
			Any        bool
			MatchNames []string
		}
		PodMetricsEndpoints []struct {
			Port, Path, Interval, ScrapeTimeout string
			Relabelings                         []map[string]any
		}
	} `json:"spec"`
}

// certificateOf is an object of cert-manager.
type certificateOf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SecretName             string
		DNSNames, URIs, Usages []string
		IssuerRef              struct{ Name, Kind, Group string }
	} `json:"spec"`
}

type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Groups []struct {
			Name, Interval string
			Rules          []struct {
				Alert, Record, Expr, For string
				KeepFiringFor            string `json:"keep_firing_for"`
				Labels, Annotations      map[string]string
			}
		}
	} `json:"spec"`
}

// documents decodes manifests strictly: an unknown field, a repeated field or an
// unknown kind fails the test.
func documents(t *testing.T, manifests string) []any {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	var found []any
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		var head metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(text, &head); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		var object any
		switch head.Kind {
		case "":
			continue // comments alone
		case "ServiceMonitor":
			object = &serviceMonitor{}
			err = yaml.UnmarshalStrict(text, object)
		case "PodMonitor":
			object = &podMonitor{}
			err = yaml.UnmarshalStrict(text, object)
		case "Certificate":
			object = &certificateOf{}
			err = yaml.UnmarshalStrict(text, object)
		case "PrometheusRule":
			object = &prometheusRule{}
			err = yaml.UnmarshalStrict(text, object)
		case "CustomResourceDefinition":
			u := &unstructured.Unstructured{}
			object, err = u, yaml.Unmarshal(text, &u.Object)
		default:
			object, _, err = decoder.Decode(text, nil, nil)
		}
		if err != nil {
			t.Errorf("%s %s: %v", head.Kind, head.Name, err)
			continue
		}
		found = append(found, object)
	}
}

// daemonPod is the Pod of the Deployment that serves.
func daemonPod(t *testing.T, objects []any) corev1.PodSpec {
	t.Helper()
	return stage.One[*appsv1.Deployment](t, slices.DeleteFunc(slices.Clone(objects), isOperator)).Spec.Template.Spec
}

// operatorPod is the Pod of the operator of fleets, nil where there is none.
func operatorPod(objects []any) *corev1.PodSpec {
	if at := slices.IndexFunc(objects, isOperator); at >= 0 {
		return &objects[at].(*appsv1.Deployment).Spec.Template.Spec
	}
	return nil
}

func isOperator(object any) bool {
	deployment, is := object.(*appsv1.Deployment)
	return is && deployment.Labels["app.kubernetes.io/component"] == "fleet"
}

// metaOf returns the metadata of an object that documents returned.
func metaOf(t *testing.T, object any) metav1.Object {
	t.Helper()
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u
	}
	o, ok := object.(metav1.ObjectMetaAccessor)
	if !ok {
		t.Fatalf("got a %T", object)
	}
	return o.GetObjectMeta()
}
