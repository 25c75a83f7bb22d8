package assign_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// decided is what messages about a use say of who decided its check and its slice.
func decided(u assign.Use) string {
	return u.Names(key("shop/web")).Of("HEALTH_CHECK_MODE, TARGET_ENDPOINTSLICE_NAME, HEALTH_CHECK_FALL")
}

// Contract 117: a use says who decided its check, also where the pool says the same, after a
// restart, and after another document asks for the same.
func TestContract117AUseSaysWhoDecidedItsCheck(t *testing.T) {
	t.Parallel()
	const pools, bindings, annotation = "EndpointPool blue spec.healthCheck.mode", "EndpointBinding shop/web spec.healthCheck.mode", "Service shop/web " + prefix + "health-check-mode"
	const rest = ", EndpointBinding shop/web spec.adopt, EndpointPool blue spec.healthCheck.fall"
	bound := func(w *world, own *v1alpha1.BindingHealthCheck) {
		b := binding("shop/web", "blue")
		b.Spec.HealthCheck = own
		w.in.Bindings = []v1alpha1.EndpointBinding{b}
	}
	own := &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckTCP}
	for name, c := range map[string]struct {
		annotations []string
		change      func(*world)
		want        string
	}{
		"annotations without a check":           {nil, func(*world) {}, pools},
		"annotations with a check":              {[]string{"health-check-mode", "TCP"}, func(*world) {}, annotation},
		"one annotation of a check":             {[]string{"health-check-port", "30080"}, func(*world) {}, annotation},
		"a binding without a check":             {[]string{"health-check-mode", "TCP"}, func(w *world) { bound(w, nil) }, pools},
		"a binding with a check":                {nil, func(w *world) { bound(w, own) }, bindings},
		"annotations that are gone":             {[]string{"health-check-mode", "TCP"}, func(w *world) { w.in.Services[0].Annotations = nil }, annotation},
		"a binding with a mistake":              {nil, func(w *world) { broken(w, own).restart() }, bindings},
		"a binding with a mistake in its check": {nil, func(w *world) { broken(w, nil).restart() }, pools},
		"nothing asks any more":                 {[]string{"health-check-mode", "TCP"}, func(w *world) { w.in.Services[0].Annotations = nil; w.restart() }, pools},
	} {
		w := annotated(t, append([]string{"pool", "blue"}, c.annotations...)...)
		c.change(w)
		w.after(time.Second)
		if got := decided(w.plan.Targets[0].Uses[0].Use); got != c.want+rest {
			t.Errorf("%s: got %q, want %q", name, got, c.want+rest)
		}
		if names := w.plan.GroupNames()[w.plan.Groups()[0]]; names.CheckBy != w.plan.Targets[0].Uses[0].CheckBy {
			t.Errorf("%s: the check of the group is said to be that of %q", name, names.CheckBy)
		}
	}
	if naming.Pool != v1alpha1.KindEndpointPool || naming.Binding != v1alpha1.KindEndpointBinding {
		t.Errorf("the kinds are %s and %s", naming.Pool, naming.Binding)
	}
}

// broken makes the binding of shop/web one with a mistake; own is what is known of its check.
func broken(w *world, own *v1alpha1.BindingHealthCheck) *world {
	w.in.Broken = []assign.BrokenBinding{{Key: key("shop/web"), HealthCheck: own, Mistakes: "spec.newer: is not a field"}}
	return w
}

// Contract 117: a group that targets share has the check of the pool where that is it for
// one of them, in whatever order they come.
func TestContract117ASharedCheckIsThePools(t *testing.T) {
	t.Parallel()
	own := &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckTCP}
	for _, checks := range [][2]*v1alpha1.BindingHealthCheck{{own, nil}, {nil, own}} {
		w := filled(t, "shop/a", "shop/b")
		w.in.Bindings[0].Spec.HealthCheck, w.in.Bindings[1].Spec.HealthCheck = checks[0], checks[1]
		w.after(time.Second)
		if got := w.plan.GroupNames()[tcp("blue", 30080)]; got.CheckBy != naming.Pool {
			t.Errorf("got %+v", got)
		}
	}
}

// Contract 117: a wish that the ports of the Service do not allow names the field of its
// binding, and no variable.
func TestContract117AWishWithoutAFittingPortNamesItsField(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pool("blue", []string{"shop"}, "30080"))
	b := binding("shop/web", "blue")
	b.Spec.Ports = []v1alpha1.BindingPort{{Name: "grpc", Protocol: v1alpha1.ProtocolTCP, Port: 30080}}
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{b}, []assign.Service{service("shop/web", 30080)}
	w.after(0).refused("shop/web  " + string(publish.PortMismatch))
	if got := w.plan.Refusals[0].Message; !strings.Contains(got, "correct EndpointBinding shop/web spec.ports or the Service") {
		t.Errorf("got %q", got)
	}
}

func TestContract205ANameIsOneOfANamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pool("blue", []string{"blog", "shop"}, "30080"))
	for _, name := range []string{"blog/web", "shop/web", "shop/yard"} {
		b := binding(name, "blue")
		b.Spec.Adopt = "web-remote"
		w.in.Bindings, w.in.Services = append(w.in.Bindings, b), append(w.in.Services, service(name, 30080))
	}
	for range 2 {
		w.after(time.Minute)
		if len(w.plan.Targets) != 2 || len(w.plan.Refusals) != 1 || w.plan.Refusals[0].Key != key("shop/yard") || !strings.Contains(w.plan.Refusals[0].Message, "slices web-remote of Service shop/web (") {
			t.Errorf("got %d targets and the refusals %+v, want that of shop/yard alone, which names shop/web", len(w.plan.Targets), w.plan.Refusals)
		}
		w.restart()
	}
}

// TestContract76WhatIsNotGrantedIsComparedWithNoOther: a team may ask for any number of Services. What
// takes longest of a plan, whether slices have names in common, is looked at for those that it gets.
func TestContract76WhatIsNotGrantedIsComparedWithNoOther(t *testing.T) {
	const granted, wanted = 100, 400
	cost := func(adopt string) int {
		p := pool("blue", []string{"evil", "shop"}, "30080")
		p.Spec.Allow[0].MaxServices = new(int32(granted))
		w := newWorld(t, p)
		for i := range wanted {
			names := []string{fmt.Sprintf("evil/web-with-a-name-that-is-long-%03d", i)}
			if i < granted {
				names = append(names, fmt.Sprintf("shop/web-with-a-name-that-is-long-%03d", i))
			}
			for _, name := range names {
				w.in.Bindings, w.in.Services = append(w.in.Bindings, binding(name, "blue")), append(w.in.Services, service(name, 30080))
			}
		}
		w.in.Bindings[0].Spec.Adopt = adopt
		w.after(0)
		if len(w.plan.Targets) != 2*granted || len(w.plan.Refusals) != wanted-granted {
			t.Fatalf("got %d targets and %d refusals", len(w.plan.Targets), len(w.plan.Refusals))
		}
		return int(testing.AllocsPerRun(3, func() { assign.Resolve(w.in, w.memory) }))
	}
	if with, without := cost("web-remote"), cost(""); with > without+20*wanted {
		t.Errorf("got %d allocations of a plan where a name is adopted, %d where none is", with, without)
	}
}
