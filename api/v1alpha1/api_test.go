package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/randfill"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// kinds returns one empty object of each kind and list.
func kinds() []runtime.Object {
	return []runtime.Object{
		&v1alpha1.EndpointPool{}, &v1alpha1.EndpointPoolList{}, &v1alpha1.EndpointBinding{}, &v1alpha1.EndpointBindingList{},
	}
}

// filler sets every field to something.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0).NumElements(1, 2).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) { *s = "x" + c.String(0) },
		func(m *v1alpha1.HealthCheckMode, c randfill.Continue) {
			*m = v1alpha1.HealthCheckMode("x" + c.String(0))
		},
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawBytes([]byte("{}")) },
	)
}

func TestADeepCopySharesNothing(t *testing.T) {
	t.Parallel()
	for _, object := range kinds() {
		filler(1).Fill(object)
		before, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		copied := object.DeepCopyObject()
		if diff := cmp.Diff(object, copied); diff != "" {
			t.Fatalf("%T: the copy differs (-want +got):\n%s", object, diff)
		}
		scribble(reflect.ValueOf(copied))
		after, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(before), string(after)); diff != "" {
			t.Errorf("%T: a change of the copy changed the original; run \"go generate ./api/v1alpha1\":\n%s", object, diff)
		}
	}
}

// scribble changes every text, number and truth value that can be reached.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scribble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	}
}

func TestASchemeKnowsEveryKind(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, object := range kinds() {
		kind := reflect.TypeOf(object).Elem().Name()
		want := schema.GroupVersionKind{Group: "endpoints.ablmnzde.github.io", Version: "v1alpha1", Kind: kind}
		got, _, err := scheme.ObjectKinds(object)
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	if got := v1alpha1.GroupVersion().String(); got != v1alpha1.APIVersion {
		t.Errorf("got %q, want %q", got, v1alpha1.APIVersion)
	}
}

func TestMessagesAndDocumentsUseTheSameNames(t *testing.T) {
	t.Parallel()
	if naming.Group != v1alpha1.GroupName {
		t.Errorf("got group %q, want %q", naming.Group, v1alpha1.GroupName)
	}
	annotations := map[string]bool{v1alpha1.AnnotationPool: true}
	for _, s := range naming.All() {
		if s.Annotation != "" {
			annotations[naming.Group+"/"+s.Annotation] = true
		}
		if s.Field != "" && !hasField(reflect.TypeFor[v1alpha1.EndpointPool](), s.Field) && !hasField(reflect.TypeFor[v1alpha1.EndpointBinding](), s.Field) {
			t.Errorf("%s: messages name %s, which is no field of a document", s.Variable, s.Field)
		}
	}
	for _, name := range v1alpha1.BindingAnnotations() {
		if !annotations[name] {
			t.Errorf("no message names %s", name)
		}
		delete(annotations, name)
	}
	if len(annotations) > 0 {
		t.Errorf("messages name annotations that a Service does not have: %v", annotations)
	}
}

// hasField reports whether a type has the field of a path such as spec.guard.failOpen or
// spec.pools[].remoteService.
func hasField(t reflect.Type, path string) bool {
	for name := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ""), ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		found := false
		for i := range t.NumField() {
			if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
				t, found = t.Field(i).Type, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func TestDefaultsChangeNothingThatIsSet(t *testing.T) {
	t.Parallel()
	var pool v1alpha1.EndpointPool
	pool.Spec.Allow = []v1alpha1.PoolAllowance{{}}
	pool.SetDefaults()
	if got := pool.Spec.HealthCheck.Timeout.Duration; got != time.Second || *pool.Spec.Guard.EmptyResultThreshold != 10 || *pool.Spec.Allow[0].MaxChecks != 2000 {
		t.Errorf("got %+v", pool.Spec)
	}
	again := pool.DeepCopy()
	again.SetDefaults()
	if diff := cmp.Diff(&pool, again); diff != "" {
		t.Errorf("defaults of defaults differ:\n%s", diff)
	}
	for seed := range int64(50) {
		var pool v1alpha1.EndpointPool
		filler(seed).Fill(&pool)
		want := pool.DeepCopy()
		pool.SetDefaults()
		if diff := cmp.Diff(want, &pool); diff != "" {
			t.Fatalf("defaults changed what was set (-want +got):\n%s", diff)
		}
	}
}

func TestAShortIntervalShortensTheDefaultTimeout(t *testing.T) {
	t.Parallel()
	var pool v1alpha1.EndpointPool
	if err := json.Unmarshal([]byte(`{"spec":{"healthCheck":{"interval":"400ms"}}}`), &pool); err != nil {
		t.Fatal(err)
	}
	pool.SetDefaults()
	if got := pool.Spec.HealthCheck.Timeout.Duration; got != 400*time.Millisecond {
		t.Errorf("got %v, want 400ms", got)
	}
}

func TestABindingHasDefaultsOfItsOwn(t *testing.T) {
	t.Parallel()
	binding := v1alpha1.EndpointBinding{Spec: v1alpha1.EndpointBindingSpec{
		Ports:       []v1alpha1.BindingPort{{Port: 80}},
		HealthCheck: &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckHTTP},
	}}
	binding.SetDefaults()
	s := binding.Spec
	if s.Mode != v1alpha1.BindingPublish || s.Ports[0].Protocol != v1alpha1.ProtocolTCP || s.HealthCheck.Path != "/" || s.HealthCheck.ExpectedStatus != "200-399" {
		t.Errorf("got %+v", s)
	}
	binding.Spec.HealthCheck = &v1alpha1.BindingHealthCheck{}
	binding.SetDefaults()
	if got := *binding.Spec.HealthCheck; got.Mode != v1alpha1.HealthCheckTCP || got.Path != "" || got.ExpectedStatus != "" {
		t.Errorf("got %+v, want a TCP check without a request", got)
	}
}
