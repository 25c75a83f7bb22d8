package cache_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// cacheFeed is one cache and what its watches tell it.
type cacheFeed struct {
	*cache.Cache

	revision cache.Revision
	again    bool
}

func newWatched() *cacheFeed {
	w := &cacheFeed{Cache: cache.New(1), revision: 1}
	w.list(cache.Services)
	w.list(cache.Slices)
	return w
}

// list gives the cache a complete list, as it comes. What has no revision is new.
func (w *cacheFeed) list(kind cache.Kind, all ...cache.Input) {
	w.revision++
	bounded := w.Listing(kind)
	for i := range all {
		all[i].Revision = cmp.Or(all[i].Revision, w.revision)
		all[i] = bounded(all[i])
	}
	w.again = false
	if err := w.Replace(0, kind, all, w.revision); err != nil {
		panic(err)
	}
}

func (w *cacheFeed) set(kind cache.Kind, in cache.Input) cache.Input {
	w.revision++
	in.Revision = w.revision
	w.again = w.Set(0, kind, in) || w.again
	return in
}

func (w *cacheFeed) gone(kind cache.Kind, namespace, name string) {
	w.revision++
	w.again = w.Delete(0, kind, cache.Input{Key: join.Key{Namespace: namespace, Name: name}, Revision: w.revision}) || w.again
}

// shown are the Services of a namespace that are shown, with the addresses of their endpoints.
func (w *cacheFeed) shown(namespace string) map[string]cache.JoinedService {
	follower := w.Follow()
	defer follower.Stop()
	all, _ := follower.Take()
	shown := make(map[string]cache.JoinedService)
	for _, one := range all {
		if one.Key.Namespace == namespace && one.Service != nil {
			shown[one.Key.Name] = one
		}
	}
	return shown
}

// token is what a client of a namespace gets, and reads what comes of it.
func (w *cacheFeed) token(namespace string) string {
	_, token, err := w.List(cache.Selection{Namespace: func(n string) bool { return n == namespace }, Service: "none"})
	if err != nil {
		panic(err)
	}
	return token
}

func (w *cacheFeed) reads(namespace, token string) error {
	_, err := w.Read(cache.Selection{Namespace: func(n string) bool { return n == namespace }}, token)
	return err
}

// saying is a Service of so many ports, and with certificates of that length.
func saying(namespace, name string, ports, certificates int) cache.Input {
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{
		join.AuthorityAnnotation: strings.Repeat("c", certificates),
	}}}
	for i := range ports {
		object.Spec.Ports = append(object.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(i + 1), AppProtocol: ptr.To(name + strings.Repeat("q", 200))})
	}
	return cache.Input{Key: join.Key{Namespace: namespace, Name: name}, Service: join.ToService(object)}
}

// listing is a slice of a Service with so many ports, and with these endpoints.
func listing(namespace, name, service string, ports int, endpoints ...int) cache.Input {
	object := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for i := range ports {
		object.Ports = append(object.Ports, discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprint("p", i)), Port: ptr.To(int32(8080))})
	}
	for _, e := range endpoints {
		object.Endpoints = append(object.Endpoints, discoveryv1.Endpoint{Addresses: []string{address(e)}})
	}
	return cache.Input{Key: join.Key{Namespace: namespace, Name: name}, Slice: join.ToSlice(object)}
}

func numbered(prefix string, i int) string { return fmt.Sprintf("%s%03d", prefix, i) }

// TestContract148ANamespaceWhoseServicesSayTooMuchTakesNoRoomOfOthers: 200 Services that say
// 200 KB each. What is shown stays as it was, what others have is shown.
func TestContract148ANamespaceWhoseServicesSayTooMuchTakesNoRoomOfOthers(t *testing.T) {
	for way, fill := range map[string]func(w *cacheFeed, all []cache.Input){
		"by the watch": func(w *cacheFeed, all []cache.Input) {
			for _, in := range all {
				w.set(cache.Services, in)
			}
		},
		"by a list": func(w *cacheFeed, all []cache.Input) { w.list(cache.Services, all...) },
	} {
		t.Run(way, func(t *testing.T) {
			w := newWatched()
			all := []cache.Input{saying("evil", "small", 1, 100), saying("shop", "web", 1, 100)}
			for i := range 200 {
				all = append(all, saying("evil", numbered("s", i), 256, 30_000))
			}
			fill(w, all)
			shown := w.shown("evil")
			if _, small := shown["small"]; len(shown) < 50 || len(shown) > 90 || !small {
				t.Errorf("got %d Services, want those that 16 MiB have room for, and the small one", len(shown))
			}
			if got := w.shown("shop"); len(got) != 1 {
				t.Errorf("the other namespace: got %v, want its Service", got)
			}
			if diff := gocmp.Diff([]string{"evil"}, w.Crowded()); diff != "" {
				t.Errorf("namespaces that are told (-want +got):\n%s", diff)
			}
			if !w.Refuses(join.Key{Namespace: "evil", Name: "s199"}) || w.Refuses(join.Key{Namespace: "evil", Name: "small"}) {
				t.Error("got another Service that is refused than s199")
			}
			w.set(cache.Services, saying("evil", "small", 256, 30_000))
			if got := w.shown("evil")["small"].Service; len(got.Ports) != 1 {
				t.Errorf("a Service that grows: got %d ports, want it as it was", len(got.Ports))
			}
			w.set(cache.Services, saying("evil", "s000", 2, 0))
			if got := w.shown("evil")["s000"].Service; got == nil || len(got.Ports) != 2 {
				t.Errorf("a Service that shrinks: got %v, want it as it is", got)
			}
			w.list(cache.Services, all...)
			for name := range shown {
				if w.shown("evil")[name].Service == nil {
					t.Errorf("after another list Service %s is gone", name)
				}
			}
		})
	}
}

// TestContract148WhatWasRefusedComesWhenThereIsRoomAgain, and a client that may have missed
// it meanwhile at another replica begins anew.
func TestContract148WhatWasRefusedComesWhenThereIsRoomAgain(t *testing.T) {
	w := newWatched()
	all := []cache.Input{saying("shop", "web", 1, 0), saying("evil", "small", 1, 0)}
	for i := range 120 {
		all = append(all, saying("evil", numbered("s", i), 256, 30_000))
	}
	w.list(cache.Services, all...)
	other := fmt.Sprintf("%d.%d", w.revision, w.revision-1) // of a replica that shows all
	if err := errors.Join(w.reads("shop", w.token("shop")), w.reads("shop", other)); err != nil {
		t.Errorf("a client of the other namespace: got %v", err)
	}
	for _, token := range []string{w.token("evil"), other} {
		if err := w.reads("evil", token); !errors.Is(err, cache.ErrExpired) {
			t.Errorf("token %s: got %v, want a client that begins anew", token, err)
		}
	}
	if token := w.token("evil"); token != "0.0" {
		t.Errorf("got token %s, want none that another replica takes", token)
	}
	grown := w.set(cache.Services, saying("evil", "small", 256, 0))
	for i := range 100 {
		if w.gone(cache.Services, "evil", numbered("s", i)); w.again {
			break
		}
	}
	if !w.again {
		t.Fatal("got no wish for another list")
	}
	w.list(cache.Services, append(all[102:], all[0], grown)...)
	for _, unconfirmed := range w.Unconfirmed() {
		w.Gone(unconfirmed)
	}
	if got := w.shown("evil"); len(got) != 21 || len(got["small"].Service.Ports) != 256 || len(w.Crowded()) != 0 {
		t.Errorf("got %d Services, crowded %q, want 21 as they are, and room", len(got), w.Crowded())
	}
	if err := w.reads("evil", w.token("evil")); err != nil {
		t.Errorf("a token after that: got %v", err)
	}
}

// TestContract148WhatWasRefusedComesAlsoWhenTheServerConfirmsThatSomethingIsGone, of which no watch
// tells.
func TestContract148WhatWasRefusedComesAlsoWhenTheServerConfirmsThatSomethingIsGone(t *testing.T) {
	w := newWatched()
	mebibyte := func(prefix string) (all []cache.Input) { // each
		for i := range 40 {
			w.set(cache.Services, saying("evil", numbered(prefix, i), 1, 0))
			all = append(all, listing("evil", numbered(prefix, i), numbered(prefix, i), 1, upTo(1000)...))
		}
		return all
	}
	w.list(cache.Slices, mebibyte("a")...)
	if got := w.Crowded(); got != nil {
		t.Fatalf("got %q that are crowded, want room for 40 MiB", got)
	}
	after := mebibyte("b")
	w.list(cache.Slices, after...)
	again := false
	for _, unconfirmed := range w.Unconfirmed() {
		again = w.Gone(unconfirmed) || again
	}
	if !again {
		t.Fatal("got no wish for another list")
	}
	w.list(cache.Slices, after...)
	shown := w.shown("evil")
	for _, in := range after {
		if got := len(shown[in.Key.Name].Endpoints); got == 0 {
			t.Errorf("%s: got no endpoints, want those of the list", in.Key.Name)
		}
	}
	if got := w.Crowded(); got != nil {
		t.Errorf("got %q, want room", got)
	}
}

// TestContract148AClientOfTheTimeWithoutRoomBeginsAnew: another replica showed it what was
// refused here, and is gone now.
func TestContract148AClientOfTheTimeWithoutRoomBeginsAnew(t *testing.T) {
	w := newWatched()
	for i := range 90 {
		w.set(cache.Services, saying("evil", numbered("s", i), 256, 30_000))
	}
	w.set(cache.Services, saying("shop", "web", 1, 0))
	other := fmt.Sprintf("%d.3", w.revision)
	for i := range 90 {
		if name := numbered("s", i); w.Refuses(join.Key{Namespace: "evil", Name: name}) {
			w.gone(cache.Services, "evil", name)
		}
	}
	if got := w.Crowded(); got != nil {
		t.Errorf("got %q that are crowded, want none", got)
	}
	if err := w.reads("evil", other); !errors.Is(err, cache.ErrExpired) {
		t.Errorf("got %v, want a client that begins anew", err)
	}
	if err := errors.Join(w.reads("shop", other), w.reads("evil", w.token("evil"))); err != nil {
		t.Errorf("another namespace, and a token after that: got %v", err)
	}
}

// upTo are the numbers from 1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// TestContract148WhereSlicesSayTooMuchWhatDiesGoes: an endpoint that is new waits, one that
// is gone goes at once.
func TestContract148WhereSlicesSayTooMuchWhatDiesGoes(t *testing.T) {
	w := newWatched()
	many := upTo(100)
	w.set(cache.Services, saying("evil", "web", 1, 0))
	w.set(cache.Slices, listing("evil", "web-1", "web", 1, 1, 2))
	w.set(cache.Services, saying("shop", "web", 1, 0))
	for i := range 40 { // 100 ports each: 10,000 views of a slice
		w.set(cache.Slices, listing("evil", numbered("x", i), numbered("other", i), 100, many...))
	}
	shows := func(when, namespace string, want ...string) {
		t.Helper()
		var got []string
		for _, e := range w.shown(namespace)["web"].Endpoints {
			got = append(got, e.Address.String())
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	if diff := gocmp.Diff([]string{"evil"}, w.Crowded()); diff != "" {
		t.Fatalf("namespaces that are told (-want +got):\n%s", diff)
	}
	w.set(cache.Slices, listing("evil", "web-1", "web", 100, many...))
	shows("a slice that grows", "evil", "10.0.0.1", "10.0.0.2")
	w.set(cache.Slices, listing("evil", "web-1", "web", 100, many[1:]...))
	shows("an endpoint that is gone", "evil", "10.0.0.2")
	w.set(cache.Slices, listing("shop", "web-1", "web", 1, 1))
	shows("another namespace", "shop", "10.0.0.1")
	for i := range 40 {
		w.gone(cache.Slices, "evil", numbered("x", i))
	}
	if !w.again {
		t.Fatal("got no wish for another list")
	}
	w.list(cache.Slices, listing("evil", "web-1", "web", 1, 2, 3), listing("shop", "web-1", "web", 1, 1))
	shows("when there is room", "evil", "10.0.0.2", "10.0.0.3")
	if got := w.Crowded(); got != nil {
		t.Errorf("got %q, want room", got)
	}
}

// TestContract148WhatIsGoneGoesAlsoByAListWithoutRoom: as by a watch.
func TestContract148WhatIsGoneGoesAlsoByAListWithoutRoom(t *testing.T) {
	w := newWatched()
	many := upTo(100)
	w.set(cache.Services, saying("evil", "web", 1, 0))
	w.set(cache.Slices, listing("evil", "web-1", "web", 1, 1, 2))
	var all []cache.Input
	for i := range 40 {
		all = append(all, listing("evil", numbered("x", i), numbered("other", i), 100, many...))
	}
	w.list(cache.Slices, append(all, listing("evil", "web-1", "web", 100, many[1:]...))...)
	var got []string
	for _, e := range w.shown("evil")["web"].Endpoints {
		got = append(got, e.Address.String())
	}
	if diff := gocmp.Diff([]string{"10.0.0.2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestContract148AListThatIsNotCompleteIsBounded: of 1,000 Services that say 200 KB each.
func TestContract148AListThatIsNotCompleteIsBounded(t *testing.T) {
	w := newWatched()
	bounded, size := w.Listing(cache.Services), 0
	for i := range 1000 {
		size += bounded(saying("evil", numbered("s", i), 256, 30_000)).Service.Size()
	}
	if size > 72<<20 {
		t.Errorf("got %d MiB of a list, want at most twice what is kept", size>>20)
	}
}
