package assign_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
)

const prefix = v1alpha1.GroupName + "/"

// annotated is a world with one Service that has these annotations.
func annotated(t *testing.T, annotations ...string) *world {
	for i := 0; i < len(annotations); i += 2 {
		annotations[i] = prefix + annotations[i]
	}
	w := newWorld(t, pool("blue", []string{"shop"}, "30080", "30081"))
	w.in.Services = []assign.Service{service("shop/web", 30080, annotations...)}
	return w.after(0)
}

func TestAnnotationsAreTheShortFormOfABinding(t *testing.T) {
	t.Parallel()
	annotated(t, "pool", "blue").want("shop/web blue:30080 active").refused()
	annotated(t, "pool", "").want().refused()
	annotated(t).want().refused()
	annotated(t, "views", "true").want().refused()

	w := annotated(t, "pool", "blue", "health-check-mode", "HTTP", "health-check-path", "/ready", "health-check-host", "web.example.org",
		"health-check-port", "30081", "health-check-expected-status", "200-204")
	want := assign.Group{Pool: "blue", Check: assign.Check{
		Mode: v1alpha1.HealthCheckHTTP, Port: 30081, Path: "/ready", Host: "web.example.org", ExpectedStatus: "200-204",
	}}
	if got := w.plan.Groups(); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMistakesInAnnotationsAreToldAllAtOnceByTheirNames(t *testing.T) {
	t.Parallel()
	w := annotated(t, "pool", "blue", "health-check-mode", "HTPP", "health-check-port", "http", "health-check-path", "/a?secret=1")
	w.want().refused("shop/web  Invalid")
	for _, said := range []string{prefix + "health-check-mode", prefix + "health-check-port", prefix + "health-check-path", "HTTP"} {
		if got := w.plan.Refusals[0].Message; !strings.Contains(got, said) {
			t.Errorf("got %q, want %q in it", got, said)
		}
	}
	w = annotated(t, "pool", "Not_A_Name")
	w.refused("shop/web  Invalid")
	if got := w.plan.Refusals[0].Message; !strings.Contains(got, prefix+"pool") {
		t.Errorf("got %q, want the name of the annotation", got)
	}
}

func TestAMisspeltAnnotationIsToldWithTheRightName(t *testing.T) {
	t.Parallel()
	w := annotated(t, "pool", "blue", "health-chek-path", "/ready")
	if got := w.plan.Notices; len(got) != 1 || got[0].Reason != assign.UnknownAnnotation || !strings.Contains(got[0].Message, "did you mean "+prefix+"health-check-path?") {
		t.Errorf("got %v", got)
	}
	w.want("shop/web blue:30080 active")
}

func TestWhatEndpointViewsReadsIsNoMistake(t *testing.T) {
	t.Parallel()
	texts := []string{"pool", "blue"}
	for _, name := range v1alpha1.ViewAnnotations() {
		texts = append(texts, strings.TrimPrefix(name, prefix), "x")
	}
	if got := annotated(t, texts...).plan.Notices; len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestABindingWinsOverAnnotations(t *testing.T) {
	t.Parallel()
	w := annotated(t, "pool", "blue", "health-check-mode", "None")
	w.in.Bindings = []v1alpha1.EndpointBinding{binding("shop/web", "blue")}
	w.after(0).want("shop/web blue:30080 active")
	if got := w.plan.Notices; len(got) != 1 || got[0].Reason != assign.BindingWins {
		t.Errorf("got %v, want that the binding wins", got)
	}
	if got, want := w.plan.Groups(), tcp("blue", 30080); len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want the check of the binding", got)
	}
}

func TestContract60AWrongAnnotationTakesNothingAway(t *testing.T) {
	t.Parallel()
	w := annotated(t, "pool", "blue")
	w.in.Services[0] = service("shop/web", 30080, prefix+"pool", "blue", prefix+"health-check-mode", "off")
	w.after(releaseAfter).want("shop/web blue:30080 active").refused("shop/web  Invalid")
}

// TestAnnotationsAreReadOnce: with 1,000 Services, reading all annotations again in each
// pass would take most of the time of a pass.
func TestAnnotationsAreReadOnce(t *testing.T) {
	w := annotated(t, "pool", "blue", "health-check-port", "30080")
	allocations := func(in func() assign.Input) float64 {
		return testing.AllocsPerRun(20, func() { _, w.memory = assign.Resolve(in(), w.memory) })
	}
	again := allocations(func() assign.Input { return w.in })
	other := 0
	anew := allocations(func() assign.Input {
		other++
		w.in.Services = []assign.Service{service("shop/web", 30080, prefix+"pool", "blue", prefix+"health-check-port", strconv.Itoa(30080+other%2))}
		return w.in
	})
	if again*2 > anew {
		t.Errorf("got %.0f allocations where nothing changed and %.0f where the annotations did, want less than half", again, anew)
	}
	w.in.Services = []assign.Service{service("shop/web", 30080, prefix+"pool", "blue", prefix+"health-check-mode", "HTPP")}
	w.after(0).refused("shop/web  Invalid")
}
