package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

// ledBy is a document of that leader.
func ledBy(holder string) func(*report.Document) {
	return func(d *report.Document) { d.Election = report.Election{Enabled: true, Holder: holder} }
}

// askedAs asks what answers there for the document of pod-a.
func askedAs(ctx context.Context, address string) (*report.Document, error) {
	at, _ := netip.ParseAddrPort(address)
	var d report.Document
	leader := lease.State{Enabled: true, Holder: "pod-a_X", Address: at, Protocol: lease.Protocol}
	return &d, cli.AskLeaderFor(ctx, leader, "pod-b", "/services/default/web", &d)
}

func TestTheLeaderIsAskedByItsName(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/leader/services/default/web" || r.Header.Get("Authorization") != "Bearer pod-a_X" {
			t.Errorf("got a request for %s of %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		_ = json.NewEncoder(w).Encode(document(ledBy("pod-a_X")))
	}))
	defer server.Close()
	d, err := askedAs(t.Context(), server.Listener.Addr().String())
	if err != nil || len(d.Nodes) != 3 {
		t.Errorf("got %+v and %v, want the document", d, err)
	}
}

func TestWhatIsNotTheLeaderIsNotHandedOn(t *testing.T) {
	t.Parallel()
	if _, err := askedAs(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "does not say where the leader answers") {
		t.Errorf("without an address: got %v", err)
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"another leader": {answers(ledBy("pod-b_Y")), "the answer is not from pod-a_X"},
		"a standby": {answers(func(d *report.Document) {
			ledBy("pod-a_X")(d)
			d.Leader = false
		}), "the answer is not from pod-a_X"},
		"another version": {answers(func(d *report.Document) { d.APIVersion = "v2" }), `apiVersion "v2", want "v1"`},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		}, "302"},
		"a refusal": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, "403"},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(test.handler)
			defer server.Close()
			_, err := askedAs(t.Context(), server.Listener.Addr().String())
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), server.Listener.Addr().String()) {
				t.Errorf("got %v, want %q and the address", err, test.says)
			}
		})
	}
}

// Contract 217: a leader that speaks another version, or does not say which, is not asked.
func TestContract217ALeaderOfAnotherVersionIsNoOpinion(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("got a request for %s", r.URL) }))
	defer server.Close()
	at, _ := netip.ParseAddrPort(server.Listener.Addr().String())
	for _, version := range []string{"", "0", "2", "1.1"} {
		leader := lease.State{Enabled: true, Holder: "pod-a_X", Address: at, Protocol: version}
		one := cli.AskLeaderFor(t.Context(), leader, "pod-b", "/services/default/web", &report.Document{})
		list := cli.AskLeaderFor(t.Context(), leader, "pod-b", "/services", &report.Services{})
		for _, err := range []error{one, list} {
			if want := fmt.Sprintf("in version %q, this replica asks in version %q; wait for the update to end", version, lease.Protocol); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
}

// Contract 217: nor does an answer of another version count, whatever its fields are.
func TestContract217AnAnswerOfAnotherVersionIsNoOpinion(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"apiVersion":"v2","leader":true,"election":{"holder":"pod-a_X"},"services":7}`, `{"leader":true,"election":{"holder":"pod-a_X"}}`, `no JSON`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		defer server.Close()
		at, _ := netip.ParseAddrPort(server.Listener.Addr().String())
		leader := lease.State{Enabled: true, Holder: "pod-a_X", Address: at, Protocol: lease.Protocol}
		one := cli.AskLeaderFor(t.Context(), leader, "pod-b", "/services/default/web", &report.Document{})
		list := cli.AskLeaderFor(t.Context(), leader, "pod-b", "/services", &report.Services{})
		for _, err := range []error{one, list} {
			if err == nil || !strings.Contains(err.Error(), `want "v1"); if an update is under way, wait for its end`) {
				t.Errorf("%s: got %v, want that it has another version", answer, err)
			}
		}
	}
}

// Contract 48: a standby hands on what the leader says of targets, and that it is none.
func TestContract48WhatTheLeaderSaysOfTargetsIsHandedOn(t *testing.T) {
	t.Parallel()
	list := report.Services{Headline: report.Headline{Head: report.Head{APIVersion: report.APIVersion, Leader: true, Election: report.Election{Enabled: true, Holder: "pod-a_X"}}}, Known: 7}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer pod-a_X":
			http.Error(w, "no", http.StatusForbidden)
		case r.URL.Path == "/api/v1/leader/services":
			_ = json.NewEncoder(w).Encode(list)
		case r.URL.Path == "/api/v1/leader/services/shop/greedy":
			http.Error(w, "namespace shop may not use a pool secret", http.StatusNotFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	at, _ := netip.ParseAddrPort(server.Listener.Addr().String())
	ask := func(holder, path string, into report.Answer) error {
		return cli.AskLeaderFor(t.Context(), lease.State{Enabled: true, Holder: holder, Address: at, Protocol: lease.Protocol}, "pod-b", path, into)
	}
	var got report.Services
	if err := ask("pod-a_X", "/services?namespace=shop", &got); err != nil || got.Known != 7 || got.HandedOnBy != "pod-b" {
		t.Errorf("got %+v and %v, want the list, handed on by pod-b", got, err)
	}
	var none *report.NoService
	if err := ask("pod-a_X", "/services/shop/greedy", &report.Document{}); !errors.As(err, &none) || none.Message != "namespace shop may not use a pool secret" {
		t.Errorf("got %v, want what the leader says", err)
	}
	for name, test := range map[string]struct{ holder, path, says string }{
		"an older leader": {"pod-a_X", "/explain?subject=x", "404"},
		"a stranger":      {"pod-c_Z", "/services", "403"},
	} {
		if err := ask(test.holder, test.path, &report.Services{}); err == nil || errors.As(err, &none) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want %s", name, err, test.says)
		}
	}
	list.Election.Holder = "pod-c_Z"
	if err := ask("pod-a_X", "/services", &report.Services{}); err == nil || !strings.Contains(err.Error(), "the answer is not from pod-a_X") {
		t.Errorf("got %v, want that it is another's", err)
	}
}

// answers answers with a document.
func answers(change func(*report.Document)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(document(change)) }
}

func TestALeaderOnALoopbackAddressIsNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.Listener.Addr().String()
	server.Close()
	_, err := askedAs(t.Context(), address)
	if err == nil || !strings.Contains(err.Error(), "nothing listens there. Only the leader's own machine reaches that address; set METRICS_ADDRESS to an address that the other replicas reach") {
		t.Errorf("got %v, want the remedy", err)
	}
}
