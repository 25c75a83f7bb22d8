package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/election"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

// ledBy is a document of that leader.
func ledBy(holder string) func(*report.Document) {
	return func(d *report.Document) { d.Election = report.Election{Enabled: true, Holder: holder} }
}

// askedAs asks what answers there for the document of pod-a.
func askedAs(ctx context.Context, address string) (*report.Document, error) {
	at, _ := netip.ParseAddrPort(address)
	return cli.AskLeader(ctx, election.State{Enabled: true, Holder: "pod-a_X", Address: at}, config.Target{Namespace: "default", ServiceName: "web"})
}

func TestTheLeaderIsAskedByItsName(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/leader" || r.Header.Get("Authorization") != "Bearer pod-a_X" {
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
		"another Service": {answers(func(d *report.Document) { d.Target.Service = "api" }), "daemon of default/api, not of default/web"},
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
			d, err := askedAs(t.Context(), server.Listener.Addr().String())
			if err == nil || d != nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), server.Listener.Addr().String()) {
				t.Errorf("got %+v and %v, want %q and the address", d, err, test.says)
			}
		})
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
	if err == nil || !strings.Contains(err.Error(), "nothing listens there. Only its own machine reaches that address; set METRICS_ADDRESS to one that the other replicas reach") {
		t.Errorf("got %v, want the remedy", err)
	}
}
