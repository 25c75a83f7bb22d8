package assign_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// Contract 116: after a restart, what a pool published whose document cannot be used stays
// and is checked, with the check of its binding; nothing new is published from it.
func TestContract116WhatAPoolPublishedThatCannotBeUsedStays(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b")
	w.in.Bindings[1].Spec.HealthCheck = &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckHTTP, Path: "/ready"}
	w.after(0)
	pools := w.in.Pools
	w.in.Pools, w.in.OnlyChecked = pools[1:], pools[:1]
	w.in.Bindings = append(w.in.Bindings, binding("shop/new", "blue"))
	w.in.Services = append(w.in.Services, service("shop/new", 30080))
	w.restart().after(0).want("shop/a blue:30080 kept", "shop/b blue:30080 kept")
	if got := w.plan.Targets[1].Uses[0]; got.Check.Mode != v1alpha1.HealthCheckHTTP || got.Check.Path != "/ready" {
		t.Errorf("got %+v, want the check of the binding", got)
	}
	if len(w.plan.Lost) > 0 || w.plan.Kept != "" || len(w.plan.Groups()) != 2 {
		t.Errorf("got lost %v, %q and groups %v", w.plan.Lost, w.plan.Kept, w.plan.Groups())
	}
	w.refused("shop/a blue Invalid", "shop/b blue Invalid", "shop/new blue PoolNotAllowed")
	if got := w.plan.Refusals[0].Message; !strings.HasPrefix(got, "the document of pool blue has a mistake") || !strings.Contains(got, "(EndpointBinding shop/a spec.pools)") {
		t.Errorf("got %q", got)
	}

	w.in.OnlyChecked = []v1alpha1.EndpointPool{pools[0]} // its next version has a mistake too, and another check
	w.in.OnlyChecked[0].Spec.HealthCheck.Mode = v1alpha1.HealthCheckHTTP
	w.after(time.Second)
	if got := w.plan.Pools[0].Spec.HealthCheck.Mode; got != v1alpha1.HealthCheckHTTP {
		t.Errorf("got the check %s, want that of the newest version", got)
	}

	w.in.Bindings = w.in.Bindings[:2] // however long, and whatever else could be read
	w.after(10*releaseAfter).want("shop/a blue:30080 kept", "shop/b blue:30080 kept")
	w.in.Pools, w.in.OnlyChecked = pools, nil
	w.after(time.Second).want("shop/a blue:30080 active", "shop/b blue:30080 active")
	w.in.Pools = pools[1:]
	w.after(time.Second)
	if got := w.plan.Targets[0].Uses[0].State; got == assign.Active || got == assign.Emptied {
		t.Errorf("got %s of a pool that is gone", got)
	}
}

// Contract 116: a check that a binding asks for counts where the slices publish its port.
func TestContract116ACheckOfAnotherPortWasNotGranted(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.in.Bindings[0].Spec.HealthCheck = &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckHTTP, Port: new(int32(22))}
	w.in.OnlyChecked, w.in.Pools = w.in.Pools[:1], nil
	w.restart().after(0).want("shop/a blue:30080 kept")
	if got := w.plan.Targets[0].Uses[0].Group; got != tcp("blue", 30080) {
		t.Errorf("got %+v, want the check of the pool", got)
	}
}

// Contract 116: after a restart, what a binding with a mistake had stays, with its own check
// where that is sound, and nothing in its place counts.
func TestContract116ABindingWithAMistakeKeepsWhatItHad(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b")
	w.in.Services[0].Annotations[v1alpha1.AnnotationPool] = "green"
	own := &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckHTTP, Path: "/ready"}
	w.in.Bindings, w.in.Broken = w.in.Bindings[1:], []assign.BrokenBinding{{Key: key("shop/a"), HealthCheck: own, Mistakes: "spec.newer: is not a field"}}
	w.restart().after(0).after(10*releaseAfter).want("shop/a blue:30080 active", "shop/b blue:30080 active")
	w.refused("shop/a  Invalid")
	if got := w.plan.Targets[0].Uses[0].Check; got.Mode != v1alpha1.HealthCheckHTTP || got.Path != "/ready" {
		t.Errorf("got %+v, want the check of the binding", got)
	}
}

// Contract 116: a dry run stays one while its binding cannot be used.
func TestContract116ADryRunStaysOne(t *testing.T) {
	t.Parallel()
	w := filled(t)
	b := binding("shop/a", "blue")
	b.Spec.Mode = v1alpha1.BindingDryRun
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{b}, []assign.Service{service("shop/a", 30080)}
	w.after(0)
	w.in.Bindings, w.in.Broken = nil, []assign.BrokenBinding{{Key: key("shop/a"), Mistakes: "a mistake"}}
	w.after(time.Second).want("shop/a blue:30080 active")
	if !w.plan.Targets[0].DryRun {
		t.Error("got a target that is written, want the dry run that it was")
	}
}

// TestContract244WhereNotAllBindingsAreKnownByNameNothingIsGone: what stands for them is no Service.
func TestContract244WhereNotAllBindingsAreKnownByNameNothingIsGone(t *testing.T) {
	rest := documents.Entry{Key: documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: "shop", Name: documents.Rest}, Object: new(documents.Object), Reason: v1alpha1.ReasonInvalid}
	in := assign.InputOf(documents.Set{Complete: true, Entries: []documents.Entry{rest}})
	if !in.Unread["shop"] || len(in.Broken) > 0 || !in.Complete {
		t.Errorf("got %+v, want that the namespace is not known as a whole", in)
	}
}
