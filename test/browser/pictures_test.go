package browser_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

//go:generate go test . -run TestThePicturesOfTheDocumentationSayWhatThePageSays -update

// picture is a view of a page, and the name of its file in docs/images.
type picture struct {
	Name        string `json:"name"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	ColorScheme string `json:"colorScheme"`
}

// pictures are the pages of which the documentation has one.
func pictures(t *testing.T) []page {
	return []page{pictureOfANodeDown(t), pictureOfManyServices(t)}
}

func pictureOfANodeDown(t *testing.T) page {
	d := newDaemon(t, 7, append(workers(7), node{Name: "frankfurt-control-1", IP: backend(9), Ready: true}))
	d.until("all ready", func(doc report.Document) bool { return doc.Healthy })
	d.backends[2].Close()
	d.until("one down", func(doc report.Document) bool { return doc.Stages.Down == 1 && doc.Store.PendingSlices == 0 })
	return page{Name: "node-down", URL: d.url, Picture: &picture{"status-node-down", 1200, 860, "light"}}
}

// pictureOfManyServices has what the page says of a list in which one pool fails open and one
// Service is refused.
func pictureOfManyServices(t *testing.T) page {
	at := time.Date(2026, 11, 3, 3, 14, 15, 0, time.UTC)
	publishes := report.ModeState{Mode: "Publish"}
	opened := report.ModeState{Mode: "FailOpen", Reason: "NothingPasses", Message: "no endpoint passes its health check: all are published ready until one passes", Since: at.Add(-4 * time.Minute)}
	read := func(kind string) *report.SourceState {
		return &report.SourceState{Kind: kind, LastSuccess: at.Add(-9 * time.Second)}
	}
	healthy := func(namespace, service string) report.ServiceStatus {
		return report.ServiceStatus{
			Namespace: namespace, Service: service, Condition: report.Healthy, Summary: "6 of 6 nodes ready in " + namespace + "/" + service,
			Pools: []report.PoolUse{{Name: "frankfurt", State: report.Active}}, ReadyEndpoints: 6, Endpoints: 6,
		}
	}
	list := report.Services{
		Headline: report.Headline{
			Head:    report.Head{APIVersion: report.APIVersion, At: at, Decided: true, Leader: true},
			Summary: "4 of 6 Services healthy: 1 FailOpen, 1 Refused", Condition: report.FailOpen,
			Program: report.Program{Version: "v1.2.3", StartedAt: at.Add(-50 * time.Hour), UptimeSeconds: 180000},
		},
		Documents: &report.Documents{Generation: 4},
		Pools: []report.PoolStatus{
			{Name: "london", Condition: report.FailOpen, ModeState: opened, Source: read("kubernetes"), Services: 1, Stages: report.Stages{Nodes: 3, Eligible: 3, Ready: 3}},
			{Name: "frankfurt", Condition: report.Healthy, ModeState: publishes, Source: read("ionos"), Services: 4, Stages: report.Stages{Nodes: 6, Eligible: 6, Passing: 6, Ready: 6}},
		},
		Conditions: []report.ConditionCount{{Condition: report.FailOpen, Services: 1}, {Condition: report.Refused, Services: 1}, {Condition: report.Healthy, Services: 4}},
		Known:      6, Total: 6,
		Services: []report.ServiceStatus{
			{
				Namespace: "shop", Service: "search", Condition: report.FailOpen, Summary: "Failing open: 0 of 3 nodes pass, 3 of 3 published ready in shop/search",
				Pools: []report.PoolUse{{Name: "london", State: report.Active}}, ReadyEndpoints: 3, Endpoints: 3,
			},
			{
				Namespace: "blog", Service: "front", Condition: report.Refused, Summary: "nothing is published for blog/front",
				Refusals: []report.Refusal{{Pool: "london", Reason: "PoolNotAllowed", Message: "namespace blog may not use pool london"}},
			},
			healthy("blog", "comments"), healthy("pay", "api"), healthy("shop", "api"), healthy("shop", "web"),
		},
	}
	return page{Name: "services", URL: serveMany(t, list), Picture: &picture{"services", 1200, 900, "light"}}
}

// TestThePicturesOfTheDocumentationSayWhatThePageSays compares what the headline
// and the banners say with what they said when the pictures were taken.
func TestThePicturesOfTheDocumentationSayWhatThePageSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a browser")
	}
	images, path := filepath.Join("..", "..", "docs", "images"), filepath.Join("testdata", "pictures.json")
	out := t.TempDir()
	if golden.Updating() {
		out = images
	}
	said := look(t, out, pictures(t))
	if golden.Updating() {
		text, err := json.MarshalIndent(said, "", "  ")
		if err == nil {
			err = os.WriteFile(path, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var taken map[string][]string
	if err := json.Unmarshal(text, &taken); err != nil {
		t.Fatal(err)
	}
	for name := range taken {
		if _, err := os.Stat(filepath.Join(images, name+".png")); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(taken, said); diff != "" {
		t.Errorf("the pictures in docs/images are old, run go generate ./test/browser (-pictures +page):\n%s", diff)
	}
}
