package controllertest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract25WhatIsWrongWithTheServiceIsAnnouncedOnce(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		for _, trouble := range []struct {
			want   string
			change func(*publish.Service)
		}{
			{"ServiceMissing", func(s *publish.Service) { *s = publish.Service{} }},
			{"ServiceDeleting", func(s *publish.Service) { s.Deleting = true }},
			{"ServiceHasSelector", func(s *publish.Service) { s.HasSelector = true }},
			{"ServiceExternalName", func(s *publish.Service) { s.ExternalName = true }},
			{"PortMismatch", func(s *publish.Service) { s.Ports = nil }},
		} {
			service := w.store.service
			trouble.change(&service)
			w.store.SetService(service)
			during(10 * time.Minute)
			notices := e.taken()
			if len(notices) != 1 || string(notices[0].Reason) != trouble.want || !strings.Contains(notices[0].Note, "; ") && !strings.Contains(notices[0].Note, ", so ") {
				t.Errorf("%s: got %q, want it once with the remedy", trouble.want, said(notices))
			}
			w.store.SetService(w.store.service)
			during(time.Minute)
			e.want(t)
		}
	})
}

// foreignSlice is a slice of the Service that is not ours.
func foreignSlice(name, manager string, endpoints int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: manager}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for i := range endpoints {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.9.0.%d", i)}})
	}
	return s
}

func TestEachForeignSliceIsAnnouncedOnce(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		put := func(name, manager string, endpoints int, want ...string) {
			t.Helper()
			w.store.Put(foreignSlice(name, manager, endpoints))
			during(10 * time.Minute)
			e.wantReasons(t, want...)
		}
		put("web-remote-7", "somebody", 1, "SliceOwnedByOther")
		put("web-remote-8", "somebody", 1, "SliceOwnedByOther") // and not the first again
		put("web-abcde", "endpointslicemirroring-controller.k8s.io", 1, "MirroredSliceFound")
		put("web-abcde", "endpointslicemirroring-controller.k8s.io", 2) // only its size changed
		put("web-fghij", "somebody", 1, "MirroredSliceFound")
		put("web-fghij", "another", 1, "MirroredSliceFound") // it is another's now
		w.store.Remove("web-remote-7")
		w.store.Remove("web-abcde")
		w.store.Remove("web-fghij")
		during(10 * time.Minute)
		e.wantReasons(t)
		put("web-abcde", "endpointslicemirroring-controller.k8s.io", 1, "MirroredSliceFound") // it is back
		for message, want := range map[string]int{
			"slice has another owner and is left alone": 2, "another slice publishes endpoints of the Service": 4,
			"no other slice publishes endpoints of the Service any more": 1,
		} {
			if got := len(w.logs.with(message)); got != want {
				t.Errorf("got %d lines %q, want %d", got, message, want)
			}
		}
	})
}

func TestADryRunAnnouncesNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, e := newWorld(t, 11, 12, 13), &ear{}
		w.opts.Announcer, w.opts.DryRun = e, true
		w.store.Put(foreignSlice("web-abcde", "somebody", 1))
		w.start()
		during(time.Minute)
		w.set(func() { w.readErr = errors.New("boom") })
		during(10 * time.Minute)
		w.stop()
		e.want(t)
	})
}
