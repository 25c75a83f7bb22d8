package controller_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestTheNamespacesOfPoolsAndBindingsAreWatched(t *testing.T) {
	t.Parallel()
	pool := &v1alpha1.EndpointPool{ObjectMeta: metav1.ObjectMeta{Name: "blue"}, Spec: v1alpha1.EndpointPoolSpec{Allow: []v1alpha1.PoolAllowance{
		{Namespaces: []string{"shop"}, Ports: []string{"80"}},
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}, Ports: []string{"80"}},
	}}}
	binding := &v1alpha1.EndpointBinding{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "blog"}}
	set := documents.Set{Entries: []documents.Entry{
		{Key: documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: "blog", Name: "web"}, Binding: binding},
		{Key: documents.Key{Kind: v1alpha1.KindEndpointPool, Name: "blue"}, Pool: pool},
	}}
	found := set.Namespaces(map[string]map[string]string{"rich": {"tier": "gold"}, "poor": {"tier": "tin"}})
	got := slices.Sorted(maps.Keys(found))
	if diff := cmp.Diff([]string{"blog", "rich", "shop"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// answers is a source that always answers the same.
type answers []inventory.Node

func (a answers) Read(context.Context) ([]inventory.Node, error) { return a, nil }

// Contract 49: credentials may come later than the pool that names them.
func TestASourceIsMadeAsSoonAsItCanBe(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		missing, attempts, nodes := errors.New("no file kubeconfig"), 0, 0
		source := controller.NewSource(controller.Supply{Make: func() (controller.Origin, error) {
			switch attempts++; attempts {
			case 1:
				return controller.Origin{}, missing
			case 2:
				panic("a defect")
			}
			return controller.Origin{Source: answers{{Name: "a"}}}, nil
		}}, func(n int) { nodes = n })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go controller.Run(source, ctx)
		synctest.Wait()
		if _, err := source.Read(ctx); !errors.Is(err, missing) {
			t.Errorf("got error %v, want %v", err, missing)
		}
		time.Sleep(6 * time.Second)
		if _, err := source.Read(ctx); err == nil {
			t.Error("a source that cannot be made has no error")
		}
		time.Sleep(6 * time.Second)
		got, err := source.Read(ctx)
		if err != nil || len(got) != 1 || nodes != 1 {
			t.Errorf("got %v, %v, %d nodes, want one node", got, err, nodes)
		}
		cancel()
		synctest.Wait()
	})
}
