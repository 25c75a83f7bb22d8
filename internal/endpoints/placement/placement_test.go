package placement_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/placement"
)

// endpoint is the address of that number on a node, empty for none, of which the slice says
// that. "-x" is that it is not x; what is not named is not said.
func endpoint(number int, node, says string) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.1.0.%d", number+1)}}
	if node != "" {
		e.NodeName = &node
	}
	for _, word := range strings.Fields(says) {
		name, is := strings.TrimPrefix(word, "-"), !strings.HasPrefix(word, "-")
		switch name {
		case "ready":
			e.Conditions.Ready = &is
		case "serving":
			e.Conditions.Serving = &is
		case "terminating":
			e.Conditions.Terminating = &is
		}
	}
	return e
}

// names wants a placement that names these ready nodes.
func names(nodes ...string) func(*inventory.Placement, error) bool {
	return func(is *inventory.Placement, err error) bool { return err == nil && slices.Equal(is.Ready, nodes) }
}

func TestContract238WhatEndpointSlicesSayOfNodes(t *testing.T) {
	for name, c := range map[string]struct {
		says          []string // each "node: conditions"
		ready, ending []string
	}{
		"nothing is said":                             {[]string{"a:"}, []string{"a"}, nil},
		"ready":                                       {[]string{"b: ready serving -terminating", "a: ready serving -terminating"}, []string{"a", "b"}, nil},
		"not ready":                                   {[]string{"a: -ready -serving -terminating"}, nil, nil},
		"it ends and still serves":                    {[]string{"a: -ready serving terminating"}, nil, []string{"a"}},
		"it ends and serves no more":                  {[]string{"a: -ready -serving terminating"}, nil, nil},
		"it ends, and serving is not said":            {[]string{"a: -ready terminating"}, nil, nil},
		"it ends, ready is published all the same":    {[]string{"a: ready serving terminating"}, nil, []string{"a"}},
		"two of one node, one of which ends":          {[]string{"a: -ready serving terminating", "a: ready serving"}, []string{"a"}, nil},
		"two of one node, and none is ready":          {[]string{"a: -ready serving terminating", "a: -ready -serving"}, nil, []string{"a"}},
		"one without a node, and one with":            {[]string{": ready", "a: ready"}, []string{"a"}, nil},
		"each node once, however many Pods it has":    {[]string{"a: ready", "a: ready", "b: ready"}, []string{"a", "b"}, nil},
		"one that moves: ready here, not ready there": {[]string{"a: ready", "b: -ready"}, []string{"a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
				r.put(service(web(), 30080, 30443))
				for i, says := range c.says { // each in a slice of its own
					node, conditions, _ := strings.Cut(says, ":")
					one := slice(web(), fmt.Sprint("web-", i))
					one.Endpoints = []discoveryv1.Endpoint{endpoint(i, node, conditions)}
					r.put(one)
				}
				f := reader.Follow(t.Context(), web())
				got, err := f.Await(t.Context())
				want := &inventory.Placement{Ready: c.ready, Ending: c.ending, Found: true, Local: true, NodePorts: []uint16{30080, 30443}}
				if err != nil || cmp.Diff(want, got, equalEmpty) != "" {
					t.Errorf("got %v, and (-want +got)\n%s", err, cmp.Diff(want, got, equalEmpty))
				}
			})
		})
	}
}

var equalEmpty = cmp.Transformer("nodes", func(all []string) string { return strings.Join(all, " ") })

func TestContract238APodThatMovesAndAServiceThatChangesAreToldAtOnce(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		r.put(service(web(), 30080), slice(web(), "web-1", "a", "b"))
		f := reader.Follow(t.Context(), web())
		told(t, f, 5*time.Second, "the nodes", names("a", "b"))
		for _, step := range []struct {
			what   string
			do     func()
			wanted func(*inventory.Placement, error) bool
		}{
			{"a Pod on another node", func() { r.put(slice(web(), "web-1", "a", "c")) }, names("a", "c")},
			{"a slice more", func() { r.put(slice(web(), "web-2", "d")) }, names("a", "c", "d")},
			{"a slice of another Service now", func() { r.put(slice(inventory.RemoteService{Namespace: "shop", Name: "other"}, "web-2", "d")) }, names("a", "c")},
			{"the slice's return", func() { r.put(slice(web(), "web-2", "d")) }, names("a", "c", "d")},
			{"the slice's end", func() { r.remove("web-2") }, names("a", "c")},
			{"the Service's nodePort", func() { r.put(service(web(), 30081)) }, func(is *inventory.Placement, err error) bool {
				return err == nil && slices.Equal(is.NodePorts, []uint16{30081}) && is.Local
			}},
			{"the Service's end", func() { r.remove("web") }, func(is *inventory.Placement, err error) bool { return err == nil && !is.Found && len(is.Ready) == 0 }},
		} {
			step.do()
			told(t, f, time.Second, step.what, step.wanted)
		}
		synctest.Wait()
		select {
		case <-f.Changed(): // two objects are gone
		default:
		}
		r.put(slice(inventory.RemoteService{Namespace: "shop", Name: "other"}, "other-1", "x"))
		synctest.Wait()
		select {
		case <-f.Changed():
			is, _ := f.Placement()
			t.Errorf("told of a slice of another Service: %+v", is)
		default:
		}
	})
}

func TestContract238EndpointsThatNameNoNodeAreToldWithTheRemedy(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		o := slice(web(), "web-1")
		o.Endpoints = []discoveryv1.Endpoint{endpoint(1, "", "ready")}
		r.put(service(web(), 30080), o)
		f := reader.Follow(t.Context(), web())
		told(t, f, 5*time.Second, "endpoints without a node", func(_ *inventory.Placement, err error) bool {
			return err != nil && strings.Contains(err.Error(), "remote Service shop/web: its endpoints name no node") && strings.Contains(err.Error(), "remove REMOTE_SERVICE")
		})
		forwards := service(web(), 30080)
		forwards.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
		r.put(forwards)
		told(t, f, time.Second, "the policy", func(is *inventory.Placement, err error) bool { return err == nil && !is.Local })
	})
}

func TestContract238AtRestThereAreWatchesOnly(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		var all []*placement.Follower
		for i := range 100 {
			of := inventory.RemoteService{Namespace: fmt.Sprint("team-", i%4), Name: fmt.Sprint("web-", i)}
			r.put(service(of, int32(30000+i)), slice(of, of.Name, fmt.Sprint("node-", i)))
			all = append(all, reader.Follow(t.Context(), of))
		}
		for i, f := range all {
			if is, err := f.Await(t.Context()); err != nil || !slices.Equal(is.Ready, []string{fmt.Sprint("node-", i)}) {
				t.Fatalf("%d: got %+v, %v", i, is, err)
			}
		}
		if got := len(r.requests()); got != 8 {
			t.Errorf("got %d requests for 100 Services in 4 namespaces, want 8 watches", got)
		}
		time.Sleep(10 * time.Minute)
		got := r.requests()
		for _, q := range got[8:] {
			if !q.URL.Query().Has("watch") || q.URL.Query().Get("sendInitialEvents") == "true" {
				t.Errorf("got the request %s, want watches that go on", q.URL)
			}
		}
		if most := 8 * (10*60/22 + 2); len(got) > most {
			t.Errorf("got %d watches in ten minutes, want %d at most", len(got), most)
		}
		synctest.Wait()
		got = r.requests()
		late := reader.Follow(t.Context(), inventory.RemoteService{Namespace: "team-0", Name: "web-0"})
		if is, err := late.Placement(); err != nil || len(is.Ready) != 1 || len(r.requests()) != len(got) {
			t.Errorf("one more of a namespace: got %+v, %v and %d requests, want the placement and none", is, err, len(r.requests())-len(got))
		}
	})
}

func TestContract238TheLastFollowerEndsTheWatches(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		r.put(service(web(), 30080), slice(web(), "web-1", "a"))
		first, endFirst := context.WithCancel(t.Context())
		second, endSecond := context.WithCancel(t.Context())
		_, f := reader.Follow(first, web()), reader.Follow(second, web())
		told(t, f, 5*time.Second, "the node", names("a"))
		endFirst()
		r.put(slice(web(), "web-1", "b"))
		told(t, f, time.Second, "the move", names("b"))
		endSecond()
		synctest.Wait()
		before := len(r.requests())
		time.Sleep(5 * time.Minute)
		if got := len(r.requests()) - before; got != 0 {
			t.Errorf("got %d requests after nothing was followed any more", got)
		}
		told(t, reader.Follow(t.Context(), web()), 5*time.Second, "the node again", names("b"))
	})
}

// As of the nodes (36): what a watch cannot tell any more is told, and that it is over.
func TestContract238WhatIsNotCurrentIsToldWithin45Seconds(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*remote) http.HandlerFunc
		want   string
	}{
		"the right to slices is taken away":    {func(r *remote) http.HandlerFunc { return refuses("endpointslices", r.serve) }, "grant the user of SECURED_KUBECONFIG list and watch of endpointslices (discovery.k8s.io) and services in namespace shop"},
		"the right to Services is taken away":  {func(r *remote) http.HandlerFunc { return refuses("services", r.serve) }, "in namespace shop"},
		"watches are accepted and say nothing": {func(*remote) http.HandlerFunc { return mute }, "has sent no event since"},
		"no request is answered": {func(*remote) http.HandlerFunc {
			return func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }
		}, "has sent no event since"},
	} {
		t.Run(name, func(t *testing.T) {
			following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
				r.put(service(web(), 30080), slice(web(), "web-1", "a"))
				f := reader.Follow(t.Context(), web())
				told(t, f, 5*time.Second, "the node", names("a"))
				for range 600 {
					time.Sleep(time.Second)
					if is, err := f.Placement(); !names("a")(is, err) {
						t.Fatalf("at rest: got %+v, %v", is, err)
					}
				}
				answered := len(r.requests())
				for r.answers(c.answer(r)); len(r.requests()) == answered; { // the open watches still tell that they end
					time.Sleep(100 * time.Millisecond)
				}
				// The watch has told its last bookmark two seconds before its end.
				told(t, f, 42*time.Second, name, func(is *inventory.Placement, err error) bool {
					return is == nil && err != nil && strings.Contains(err.Error(), "has sent no event since") && strings.Contains(err.Error(), c.want)
				})
				r.put(slice(web(), "web-1", "b"))
				r.answers(nil)
				told(t, f, 90*time.Second, "the end", names("b"))
			})
		})
	}
}

func TestContract238AMissingRightIsNamedAndGrantingItIsEnough(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		r.put(service(web(), 30080), slice(web(), "web-1", "a"))
		r.answers(refuses("endpointslices", r.serve))
		f := reader.Follow(t.Context(), web())
		is, err := f.Await(t.Context())
		if is != nil || !errors.Is(err, inventory.ErrUnauthorized) ||
			!strings.Contains(err.Error(), "grant the user of SECURED_KUBECONFIG list and watch of endpointslices (discovery.k8s.io) and services in namespace shop") {
			t.Errorf("got %+v, %v, want the right", is, err)
		}
		r.answers(nil)
		told(t, f, 30*time.Second, "the node", names("a"))
	})
}

// Nothing of before an outage is gone on with: only a list shows what happened.
func TestContract238AServerThatWasRestoredFromABackupIsListedAnew(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		r.put(service(web(), 30080), slice(web(), "web-1", "a", "b"))
		f := reader.Follow(t.Context(), web())
		told(t, f, 5*time.Second, "the nodes", names("a", "b"))
		r.network.Refuse(true)
		r.CloseClientConnections()
		r.restore()
		r.put(service(web(), 30080), slice(web(), "web-1", "a"))
		time.Sleep(10 * time.Second)
		r.network.Refuse(false)
		told(t, f, 10*time.Second, "what was restored", names("a"))
	})
}

func TestContract238AnEmptyListIsAPlacementWithoutNodes(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		r.put(service(web(), 30080), slice(web(), "web-1", "a"))
		f := reader.Follow(t.Context(), web())
		told(t, f, 5*time.Second, "the node", names("a"))
		r.network.Refuse(true)
		r.CloseClientConnections()
		r.restore()
		time.Sleep(10 * time.Second)
		if is, err := f.Placement(); !names("a")(is, err) {
			t.Errorf("10 s after the server was gone: got %+v, %v, want the node", is, err)
		}
		r.network.Refuse(false)
		told(t, f, 10*time.Second, "the empty list", func(is *inventory.Placement, err error) bool {
			return err == nil && !is.Found && len(is.Ready) == 0
		})
	})
}

// The kubeconfig may lead to another cluster then, so everything is listed anew.
func TestContract37CredentialsThatChangedAreUsedAndEverythingIsListedAnew(t *testing.T) {
	following(t, func(t *testing.T, r *remote, _ *placement.Reader) {
		reader, token := run(t, r)
		r.put(service(web(), 30080), slice(web(), "web-1", "a"))
		told(t, reader.Follow(t.Context(), web()), 5*time.Second, "the node", names("a"))
		before := len(r.requests())
		write(t, token, "second")
		time.Sleep(7 * time.Second)
		got := r.requests()[before:]
		if len(got) != 2 || got[0].Header.Get("Authorization") != "Bearer second" || got[0].URL.Query().Get("sendInitialEvents") != "true" {
			t.Errorf("7 s after the token changed: got %d requests, want two lists with the new one", len(got))
		}
	})
}

// What is kept is bounded by what all of the namespace say, whoever writes it.
func TestContract238ANamespaceThatSaysTooMuchIsToldAndFollowedAgain(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		r.put(service(web(), 30080), slice(web(), "web-1", "a"))
		f := reader.Follow(t.Context(), web())
		told(t, f, 5*time.Second, "the node", names("a"))
		foreign := inventory.RemoteService{Namespace: "shop", Name: "foreign"}
		for i := range 5 {
			var nodes []string
			for k := range 250 {
				nodes = append(nodes, fmt.Sprintf("%s-%d-%d", strings.Repeat("x", 230), i, k))
			}
			r.put(slice(foreign, fmt.Sprint("foreign-", i), nodes...))
		}
		told(t, f, time.Minute, "too much", func(_ *inventory.Placement, err error) bool {
			return err != nil && strings.Contains(err.Error(), "more memory than the 256 KiB that are allowed")
		})
		r.remove("foreign")
		told(t, f, 2*time.Minute, "the end", names("a"))
	})
}

func TestTheServiceThatHasANodePortNowIsNamed(t *testing.T) {
	following(t, func(t *testing.T, r *remote, reader *placement.Reader) {
		r.put(service(web(), 30080), service(inventory.RemoteService{Namespace: "shop", Name: "other"}, 30081))
		f := reader.Follow(t.Context(), web())
		if _, err := f.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		for port, want := range map[uint16]string{30080: "web", 30081: "other", 30082: ""} {
			if got := f.Owner(port); got != want {
				t.Errorf("nodePort %d: got %q, want %q", port, got, want)
			}
		}
	})
}
