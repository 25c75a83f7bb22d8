package main // a program has no tests from outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

func endpoint(address string, state views.State) views.Endpoint {
	return views.Endpoint{Address: address, TargetPort: 8080, State: state}
}

func TestPlan(t *testing.T) {
	at := func(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }
	for name, test := range map[string]struct {
		options string
		want    []views.Endpoint
		has     map[string]server
		todo    []string
		gone    []string
	}{
		"nothing to do": {
			want: []views.Endpoint{endpoint("10.0.0.1", views.Ready)},
			has:  map[string]server{"ep_10.0.0.1_8080": {at("10.0.0.1:8080"), ready}},
		},
		"one is new": {
			want: []views.Endpoint{endpoint("10.0.0.1", views.Ready)},
			todo: []string{"add server web/ep_10.0.0.1_8080 10.0.0.1:8080", "set server web/ep_10.0.0.1_8080 state ready"},
		},
		"one of IPv6 is new, with checks": {
			options: "check inter 2s", want: []views.Endpoint{endpoint("fd00::1", views.Ready)},
			todo: []string{"add server web/ep_fd00::1_8080 [fd00::1]:8080 check inter 2s", "enable health web/ep_fd00::1_8080", "set server web/ep_fd00::1_8080 state ready"},
		},
		"one is new and down": {
			want: []views.Endpoint{endpoint("10.0.0.1", views.Down)},
			todo: []string{"add server web/ep_10.0.0.1_8080 10.0.0.1:8080"},
		},
		"one comes before another leaves": {
			want: []views.Endpoint{endpoint("10.0.0.1", views.Draining), endpoint("10.0.0.2", views.Ready)},
			has:  map[string]server{"ep_10.0.0.1_8080": {at("10.0.0.1:8080"), ready}, "ep_10.0.0.2_8080": {at("10.0.0.2:8080"), drain}, "ep_10.0.0.3_8080": {at("10.0.0.3:8080"), ready}},
			todo: []string{"set server web/ep_10.0.0.2_8080 state ready", "set server web/ep_10.0.0.1_8080 state drain", "set server web/ep_10.0.0.3_8080 state maint"},
			gone: []string{"ep_10.0.0.3_8080"},
		},
		"an address was changed by hand": {
			want: []views.Endpoint{endpoint("10.0.0.1", views.Ready)},
			has:  map[string]server{"ep_10.0.0.1_8080": {at("10.0.0.9:80"), ready}},
			todo: []string{"set server web/ep_10.0.0.1_8080 addr 10.0.0.1 port 8080"},
		},
		"others' servers": {has: map[string]server{"fallback": {at("10.0.0.9:80"), ready}}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := serversOf(test.want)
			if err != nil {
				t.Fatal(err)
			}
			got := plan("web", test.options, wanted, test.has)
			var commands []string
			for _, c := range got.commands {
				commands = append(commands, c.text)
			}
			if !slices.Equal(commands, test.todo) || !slices.Equal(got.gone, test.gone) {
				t.Errorf("got %q, gone %q\nwant %q, gone %q", commands, got.gone, test.todo, test.gone)
			}
		})
	}
}

// What is no address never reaches HAProxy, where it could end a command.
func TestAnEndpointThatIsNoAddressChangesNothing(t *testing.T) {
	for _, bad := range []views.Endpoint{
		{Address: "10.0.0.1; del server web/x", TargetPort: 80}, {Address: "fe80::1%x;y", TargetPort: 80}, {Address: "10.0.0.1"}, {Address: "10.0.0.1", TargetPort: 70000},
	} {
		b := newBackend("web")
		if err := b.want([]views.Endpoint{endpoint("10.0.0.1", views.Ready), bad}); err == nil || b.wanted != nil {
			t.Errorf("%+v: got no error, and %v", bad, b.wanted)
		}
	}
}

func TestParseServersRefusesWhatIsNoList(t *testing.T) {
	const head = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_port\n"
	for _, text := range []string{"", "Can't find backend.", "Permission denied", head + "3 web 1 ep_10.0.0.1_80 10.0.0.1"} {
		if got, err := parseServers(text); err == nil {
			t.Errorf("%q: got %v and no error", text, got)
		}
	}
	got, err := parseServers(head + "3 web 1 ep_fd00::1_80 fd00::1 0 9 80\n3 web 2 name - 2 8 0")
	if want := (server{netip.MustParseAddrPort("[fd00::1]:80"), maint}); err != nil || got["ep_fd00::1_80"] != want || got["name"].state != drain {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestARouteIsRefusedWithTheWayToWriteIt(t *testing.T) {
	all := backends{}
	for _, good := range []string{"shop/web:http=web", "shop/api:=api"} {
		if err := all.Set(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "web:http=web", "shop/web:http=", "shop/web:http=a;b", "shop/web:http=other", "shop/blog:http=web"} {
		if err := all.Set(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
	if want := []string{"shop"}; !slices.Equal(all.namespaces(), want) {
		t.Errorf("got %v, want %v", all.namespaces(), want)
	}
}

// TestAPortIsEmptiedWhereItIsSaidToHaveNoEndpoints: also where the last one went between a
// list and a stream, of which only one of whole ports tells. A port of which nothing is said
// stays, and one that has an endpoint that is no address.
func TestAPortIsEmptiedWhereItIsSaidToHaveNoEndpoints(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	streams := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("watch") == "" {
			_, _ = fmt.Fprintf(w, `{"items":[%s]}`, port("web", "10.0.0.1"))
			return
		}
		if query.Get("gather") != "" {
			for _, text := range []string{port("web"), port("api", "10.0.0.1"), port("bad", "10.0.0.1; del server web/x"), port("other")} {
				_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", text)
			}
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1.1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
		if streams++; streams == 2 { // so the first one was taken
			cancel()
		}
	}))
	defer server.Close()
	all := backends{}
	for _, route := range []string{"shop/web:http=web", "shop/api:http=api", "shop/bad:http=bad", "shop/gone:http=gone"} {
		if err := all.Set(route); err != nil {
			t.Fatal(err)
		}
	}
	client, err := views.New(views.Options{Servers: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	how := care{socket: socket{"/nowhere"}, interval: time.Hour}
	if err := run(ctx, client, all, how); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for key, want := range map[string]int{"web": 0, "api": 1, "bad": -1, "gone": -1} {
		wanted := all[views.PortKey{Namespace: "shop", Service: key, Port: "http"}].wanted
		if got := len(wanted); wanted == nil && want >= 0 || wanted != nil && got != want {
			t.Errorf("%s: got %v, want %d servers, -1 for not known", key, wanted, want)
		}
	}
}

// port is the view of a port of a Service of namespace shop.
func port(service string, addresses ...string) string {
	view := views.ServicePortView{Metadata: views.Metadata{Namespace: "shop", Name: service + ".http"}}
	view.Spec.ServiceName, view.Spec.PortName, view.Spec.Endpoints = service, "http", []views.Endpoint{}
	for _, address := range addresses {
		view.Spec.Endpoints = append(view.Spec.Endpoints, endpoint(address, views.Ready))
	}
	text, _ := json.Marshal(view) // nothing in it cannot be encoded
	return string(text)
}
