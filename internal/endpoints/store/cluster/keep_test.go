package cluster_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

func TestContract57WhatTheServerKeepsForItselfIsNotKept(t *testing.T) {
	hub := newWorld().hub(t, []string{"shop"})
	object := sliceOf("shop", "web.blue", "web", manager, 1)
	cluster.Told(hub, object.DeepCopy())
	before := cluster.Kept(hub, "shop")
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"` + strings.Repeat("f", 2000) + `":{}}`)}}
	object.ResourceVersion = "5"
	cluster.Told(hub, object)
	if got := cluster.Kept(hub, "shop") - before; got > 100 {
		t.Errorf("got %d bytes more with managed fields", got)
	}
}

// TestContract21RevisionsThatCannotBeComparedFollowEachOther: otherwise what was known
// would be kept for ever.
func TestContract21RevisionsThatCannotBeComparedFollowEachOther(t *testing.T) {
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}, {"1", "a"}, {"a", "1"}, {"2", "1"}, {"1", ""}} {
		if !cluster.Follows(pair[0], pair[1]) {
			t.Errorf("%q does not follow %q", pair[0], pair[1])
		}
	}
	if cluster.Follows("1", "2") {
		t.Error("1 follows 2")
	}
}

// pageServer is an API server that has two pages of slices.
type pageServer struct{}

func (pageServer) RoundTrip(r *http.Request) (*http.Response, error) {
	list := &discoveryv1.EndpointSliceList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	list.APIVersion, list.Kind = "discovery.k8s.io/v1", "EndpointSliceList"
	if r.URL.Query().Get("continue") == "" {
		list.Continue = "more"
		list.Items = append(list.Items, *sliceOf("shop", "a", "a", manager, 1))
	} else {
		list.Items = append(list.Items, *sliceOf("blog", "b", "b", manager, 1))
	}
	return reply(r, http.StatusOK, list), nil
}

func TestContract76SlicesAreFoundOnEachPage(t *testing.T) {
	config := &rest.Config{Host: "https://192.0.2.1"}
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return pageServer{} })
	hub, err := cluster.New(cluster.Options{Way: kube.Fixed(config), ManagedBy: manager})
	if err != nil {
		t.Fatal(err)
	}
	found, err := hub.Find(t.Context())
	if want := []string{"blog", "shop"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("got %q, %v, want %q", found, err, want)
	}
}
