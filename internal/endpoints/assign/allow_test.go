package assign_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func TestContract58OnlyWhatAPoolAllowsIsUsed(t *testing.T) {
	t.Parallel()
	shop := []string{"shop"}
	wide := pool("blue", shop, "30080", "31000-31999")
	selector := pool("blue", nil)
	selector.Spec.Allow = []v1alpha1.PoolAllowance{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}, Ports: []string{"30080"}}}
	selector.SetDefaults()
	empty := *selector.DeepCopy()
	empty.Spec.Allow[0].NamespaceSelector = &metav1.LabelSelector{}
	http := &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckHTTP, Port: new(int32(22))}
	for name, c := range map[string]struct {
		pool    v1alpha1.EndpointPool
		port    uint16
		check   *v1alpha1.BindingHealthCheck
		labels  map[string]string
		granted bool
		reason  string
	}{
		"nothing is said":                {pool: pool("blue", nil), port: 30080, reason: "PoolNotAllowed"},
		"another namespace":              {pool: pool("blue", []string{"blog"}, "30080"), port: 30080, reason: "PoolNotAllowed"},
		"the namespace":                  {pool: wide, port: 30080, granted: true},
		"first port of a range":          {pool: wide, port: 31000, granted: true},
		"last port of a range":           {pool: wide, port: 31999, granted: true},
		"port after a range":             {pool: wide, port: 32000, reason: "PortNotAllowed"},
		"port of the kubelet":            {pool: wide, port: 10250, reason: "PortNotAllowed"},
		"checked port that is forbidden": {pool: wide, port: 30080, check: http, reason: "PortNotAllowed"},
		"labels match":                   {pool: selector, port: 30080, labels: map[string]string{"tier": "gold"}, granted: true},
		"labels do not match":            {pool: selector, port: 30080, labels: map[string]string{"tier": "tin"}, reason: "PoolNotAllowed"},
		"labels are not known":           {pool: selector, port: 30080, reason: "PoolNotAllowed"},
		"an empty selector":              {pool: empty, port: 30080, labels: map[string]string{"tier": "gold"}, reason: "PoolNotAllowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.pool)
			b := binding("shop/web", "blue")
			b.Spec.HealthCheck = c.check
			w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{b}, []assign.Service{service("shop/web", c.port)}
			if c.labels != nil {
				w.in.Namespaces = map[string]map[string]string{"shop": c.labels}
			}
			w.after(0)
			if got := len(w.plan.Targets) == 1; got != c.granted {
				t.Errorf("got granted %v, want %v", got, c.granted)
			}
			if !c.granted {
				w.refused("shop/web blue " + c.reason)
			}
		})
	}
}

func TestThePortThatAPoolChecksNeedsNoPermission(t *testing.T) {
	t.Parallel()
	p := pool("blue", []string{"shop"}, "30080")
	p.Spec.HealthCheck.Port = new(int32(10256))
	w := newWorld(t, p)
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{binding("shop/web", "blue")}, []assign.Service{service("shop/web", 30080)}
	w.after(0).want("shop/web blue:30080 active")
	if got, want := w.plan.Groups(), tcp("blue", 10256); len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestContract58AnotherCheckOfThePortThatAPoolChecksNeedsPermission(t *testing.T) {
	t.Parallel()
	p := pool("blue", []string{"shop"}, "30080")
	p.Spec.HealthCheck.Port = new(int32(10256))
	for name, annotations := range map[string][]string{
		"the mode": {v1alpha1.AnnotationHealthCheckMode, "HTTP"},
		"the path": {v1alpha1.AnnotationHealthCheckMode, "HTTP", v1alpha1.AnnotationHealthCheckPath, "/configz"},
	} {
		w := newWorld(t, p)
		annotations = append(annotations, v1alpha1.AnnotationPool, "blue", v1alpha1.AnnotationHealthCheckPort, "10256")
		w.in.Services = []assign.Service{service("shop/web", 30080, annotations...)}
		if w.after(0).refused("shop/web blue PortNotAllowed"); t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestContract62WhatAPoolCheckedStaysUntilTheNewCheckPasses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.PoolHealthCheck){
		"port": func(c *v1alpha1.PoolHealthCheck) { c.Port = new(int32(10257)) },
		"path": func(c *v1alpha1.PoolHealthCheck) { c.Mode, c.Path = v1alpha1.HealthCheckHTTP, "/typo" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pool("blue", []string{"shop"}, "30080")
			p.Spec.HealthCheck.Port = new(int32(10256))
			w := newWorld(t, p)
			w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{binding("shop/web", "blue")}, []assign.Service{service("shop/web", 30080)}
			w.after(0).want("shop/web blue:30080 active")
			w.in.Health = func(assign.Group) (assign.Health, bool) { return assign.Health{}, false }
			change(&w.in.Pools[0].Spec.HealthCheck)
			w.after(0).after(2 * releaseAfter).want("shop/web blue:30080 active then blue:30080")
		})
	}
}

func TestContract59AForbiddenPoolLooksLikeOneThatDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pool("green", []string{"blog"}, "30080"))
	w.in.Bindings = []v1alpha1.EndpointBinding{binding("shop/a", "green"), binding("shop/b", "white")}
	w.in.Services = []assign.Service{service("shop/a", 30080), service("shop/b", 30080)}
	w.after(0).refused("shop/a green PoolNotAllowed", "shop/b white PoolNotAllowed")
	a := strings.NewReplacer("green", "white", "shop/a", "shop/b").Replace(w.plan.Refusals[0].Message)
	if b := w.plan.Refusals[1].Message; a != b {
		t.Errorf("got %q for a forbidden pool and %q for a missing one, want the same", a, b)
	}
}

func TestAServiceThatCannotBeFilledSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		change func(*assign.Service)
	}{
		{"ServiceMissing", func(s *assign.Service) { s.UID = "" }},
		{"ServiceHasSelector", func(s *assign.Service) { s.HasSelector = true }},
		{"ServiceExternalName", func(s *assign.Service) { s.ExternalName = true }},
		{"PortMismatch", func(s *assign.Service) { s.Ports[0].TargetPort = 0 }},
		{"HealthCheckPortAmbiguous", func(s *assign.Service) {
			s.Ports = append(s.Ports, publish.ServicePort{Name: "b", Protocol: publish.TCP, Port: 81, TargetPort: 30081})
		}},
		{"HealthCheckPortAmbiguous", func(s *assign.Service) { s.Ports[0].Protocol = publish.UDP }},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, pool("blue", []string{"shop"}, "30000-32767"))
			s := service("shop/web", 30080)
			c.change(&s)
			w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{binding("shop/web", "blue")}, []assign.Service{s}
			w.after(0).want()
			if got := w.plan.Refusals; len(got) != 1 || got[0].Reason != c.reason {
				t.Errorf("got %v, want %s", got, c.reason)
			}
		})
	}
}

func TestLimitsOfANamespace(t *testing.T) {
	t.Parallel()
	p := pool("blue", []string{"shop", "blog"}, "30000-32767")
	p.Spec.Allow[0].MaxServices, p.Spec.Allow[0].MaxChecks = new(int32(3)), new(int32(25))
	w := newWorld(t, p)
	for i, name := range []string{"shop/b", "shop/c", "blog/x"} {
		w.in.Bindings = append(w.in.Bindings, binding(name, "blue"))
		w.in.Services = append(w.in.Services, service(name, uint16(30000+i)))
	}
	w.after(0).want("blog/x blue:30002 active", "shop/b blue:30000 active", "shop/c blue:30001 active").refused()

	// A third check of ten endpoints would be more than 25, wherever the name is in the alphabet.
	w.in.Bindings = append(w.in.Bindings, binding("shop/a", "blue"))
	w.in.Services = append(w.in.Services, service("shop/a", 30009))
	w.after(0).refused("shop/a blue LimitReached")

	// With the same check it is one Service more.
	w.in.Services[3] = service("shop/a", 30000)
	w.after(0).refused()
	w.in.Bindings = append(w.in.Bindings, binding("shop/0", "blue"))
	w.in.Services = append(w.in.Services, service("shop/0", 30000))
	w.after(0).refused("shop/0 blue LimitReached")

	// More nodes or a lower limit take nothing away.
	w.in.Nodes["blue"] = 1000
	w.in.Pools[0].Spec.Allow[0].MaxServices = new(int32(1))
	w.after(0).want("blog/x blue:30002 active", "shop/a blue:30000 active", "shop/b blue:30000 active", "shop/c blue:30001 active")
	w.refused("shop/0 blue LimitReached")
}

// TestContract58WhatStaysCountsInTheLimits: neither a mistake nor a binding that is gone makes room,
// as long as what was granted before is checked and published.
func TestContract58WhatStaysCountsInTheLimits(t *testing.T) {
	t.Parallel()
	for what, limit := range map[string]func(*world){
		"maxServices": func(w *world) { w.in.Pools[0].Spec.Allow[0].MaxServices = new(int32(1)) },
		"maxChecks":   func(w *world) { w.in.Pools[0].Spec.Allow[0].MaxChecks = new(int32(15)) },
		"all checks":  func(w *world) { w.in.Nodes["blue"] = assign.MaxChecks/2 + 1 },
	} {
		for how, c := range map[string]struct {
			lose    func(*world)
			refused []string
			state   string
		}{
			"a mistake":            {func(w *world) { w.in.Services[0] = service("shop/a", 22) }, []string{"shop/a blue PortNotAllowed", "shop/b blue LimitReached"}, "active"},
			"no binding":           {func(w *world) { w.in.Bindings = nil }, []string{"shop/b blue LimitReached"}, "leaving"},
			"another, not allowed": {func(w *world) { w.in.Bindings[0] = binding("shop/a", "white") }, []string{"shop/a white PoolNotAllowed", "shop/b blue LimitReached"}, "leaving"},
		} {
			t.Run(what+", "+how, func(t *testing.T) {
				t.Parallel()
				p := pool("blue", []string{"shop"}, "30000-32767")
				p.Spec.Allow[0].MaxChecks = new(int32(assign.MaxChecks))
				w := newWorld(t, p)
				w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{binding("shop/a", "blue")}, []assign.Service{service("shop/a", 30080)}
				limit(w)
				w.after(0).want("shop/a blue:30080 active").refused()
				c.lose(w)
				w.in.Bindings, w.in.Services = append(w.in.Bindings, binding("shop/b", "blue")), append(w.in.Services, service("shop/b", 30081))
				for range 3 {
					w.after(time.Second).want("shop/a blue:30080 " + c.state).refused(c.refused...)
				}
				w.in.Bindings, w.in.Services = w.in.Bindings[len(w.in.Bindings)-1:], w.in.Services[1:] // the Service is deleted
				w.after(0).want("shop/b blue:30081 active").refused()
			})
		}
	}
}

// TestContract58ARestartGrantsNoMoreThanTheLimit: how many checks there are is not known before the
// pool was read. Then what publishes something stays, and the rest is asked for as if it were new.
func TestContract58ARestartGrantsNoMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		published bool // before the pool was counted
		want      []string
		refused   []string
	}{
		"nothing of it is published": {false, []string{"shop/b blue:30001 active", "shop/c blue:30002 active"}, []string{"shop/a blue LimitReached"}},
		"it is published":            {true, []string{"shop/a blue:30000 active", "shop/b blue:30001 active", "shop/c blue:30002 active"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pool("blue", []string{"shop"}, "30000-32767")
			p.Spec.Allow[0].MaxChecks = new(int32(25))
			w := newWorld(t, p)
			add := func(name string, port uint16) {
				w.in.Bindings, w.in.Services = append(w.in.Bindings, binding(name, "blue")), append(w.in.Services, service(name, port))
			}
			add("shop/b", 30001)
			add("shop/c", 30002)
			w.after(0)
			add("shop/a", 30000)
			w.after(0).refused("shop/a blue LimitReached")
			w.in.Nodes, w.refuses["a.blue"] = map[string]int{}, !c.published
			w.restart().after(0).after(0).want("shop/a blue:30000 active", "shop/b blue:30001 active", "shop/c blue:30002 active").refused()
			w.in.Nodes = map[string]int{"blue": 10}
			for range 3 {
				w.after(0).want(c.want...).refused(c.refused...)
			}
		})
	}
}

// TestALimitLetsTheFirstByNameIn, whichever process decides.
func TestALimitLetsTheFirstByNameIn(t *testing.T) {
	t.Parallel()
	p := pool("blue", []string{"shop"}, "30080")
	p.Spec.Allow[0].MaxServices = new(int32(2))
	w := newWorld(t, p)
	for _, name := range []string{"shop/f", "shop/b", "shop/e", "shop/a", "shop/d", "shop/c"} {
		w.in.Bindings, w.in.Services = append(w.in.Bindings, binding(name, "blue")), append(w.in.Services, service(name, 30080))
	}
	w.after(0).want("shop/a blue:30080 active", "shop/b blue:30080 active")
}

// TestContract58ANewCheckCountsBesideWhatOthersHave, wherever their names are in the alphabet. Those that
// move together do not count beside what they leave.
func TestContract58ANewCheckCountsBesideWhatOthersHave(t *testing.T) {
	t.Parallel()
	p := pool("blue", []string{"shop"}, "30000-32767")
	p.Spec.Allow[0].MaxChecks = new(int32(25))
	w := newWorld(t, p)
	for i, name := range []string{"shop/a", "shop/b", "shop/c"} {
		w.in.Bindings, w.in.Services = append(w.in.Bindings, binding(name, "blue")), append(w.in.Services, service(name, uint16(30000+i/2)))
	}
	w.after(0).want("shop/a blue:30000 active", "shop/b blue:30000 active", "shop/c blue:30001 active").refused()
	w.in.Services[0] = service("shop/a", 30009)
	for range 3 {
		w.after(time.Second).want("shop/a blue:30000 active", "shop/b blue:30000 active", "shop/c blue:30001 active").refused("shop/a blue LimitReached")
	}
	w.in.Services[1] = service("shop/b", 30009)
	w.after(time.Second).after(time.Second).want("shop/a blue:30009 active", "shop/b blue:30009 active", "shop/c blue:30001 active").refused()
}

// TestTheCheckThatAPoolDoesForAllCountsForNoNamespace, and one of another port does.
func TestTheCheckThatAPoolDoesForAllCountsForNoNamespace(t *testing.T) {
	t.Parallel()
	p := pool("blue", []string{"shop"}, "30000-32767")
	p.Spec.HealthCheck.Port, p.Spec.Allow[0].MaxChecks = new(int32(10256)), new(int32(5))
	w := newWorld(t, p)
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{binding("shop/web", "blue")}, []assign.Service{service("shop/web", 30080)}
	w.after(0).want("shop/web blue:30080 active").refused()
	w = newWorld(t, p)
	w.in.Services = []assign.Service{service("shop/web", 30080, v1alpha1.AnnotationPool, "blue", v1alpha1.AnnotationHealthCheckPort, "30080")}
	w.after(0).want().refused("shop/web blue LimitReached")
}

func TestTheWholeProcessHasALimitOfChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pool("blue", []string{"shop"}, "30000-32767"), pool("green", []string{"shop"}, "30000-32767"))
	w.in.Nodes["blue"], w.in.Nodes["green"] = assign.MaxChecks-1, 2
	for i := range w.in.Pools {
		w.in.Pools[i].Spec.Allow[0].MaxChecks = new(int32(assign.MaxChecks))
	}
	w.in.Bindings = []v1alpha1.EndpointBinding{binding("shop/a", "blue"), binding("shop/b", "green"), binding("shop/c", "blue")}
	w.in.Services = []assign.Service{service("shop/a", 30080), service("shop/b", 30080), service("shop/c", 30080)}
	w.after(0).want("shop/a blue:30080 active", "shop/c blue:30080 active").refused("shop/b green LimitReached")
}

func TestLabelsThatCouldNotBeReadForbidNothing(t *testing.T) {
	t.Parallel()
	p := pool("blue", nil)
	p.Spec.Allow = []v1alpha1.PoolAllowance{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}, Ports: []string{"30080"}}}
	p.SetDefaults()
	w := newWorld(t, p)
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{binding("shop/web", "blue")}, []assign.Service{service("shop/web", 30080)}
	w.in.Namespaces = map[string]map[string]string{"shop": {"tier": "gold"}}
	w.after(0).want("shop/web blue:30080 active")
	w.in.Namespaces, w.in.Complete = nil, false
	w.after(0).want("shop/web blue:30080 active")
	w.in.Complete = true
	w.after(0).want("shop/web blue:30080 leaving")
}

func TestAServiceThatWasNotReadIsNotCalledMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pool("blue", []string{"shop"}, "30080"))
	w.in.Bindings, w.in.Complete = []v1alpha1.EndpointBinding{binding("shop/web", "blue")}, false
	w.after(0).refused("shop/web  ServiceMissing")
	if got := w.plan.Refusals[0].Message; !strings.Contains(got, "was not read") {
		t.Errorf("got %q, want that it was not read", got)
	}
}
