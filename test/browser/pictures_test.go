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
	return []page{pictureOfANodeDown(t), pictureOfHolding(t), pictureOfFailingOpen(t)}
}

// lasts reports whether the mode has lasted for some seconds, which are said.
func lasts(doc report.Document) bool { return doc.At.Sub(doc.Since) > 2*time.Second }

func pictureOfANodeDown(t *testing.T) page {
	d := newDaemon(t, 7, append(workers(7), node{Name: "frankfurt-control-1", IP: backend(9), Ready: true}))
	d.until("all ready", func(doc report.Document) bool { return doc.Healthy })
	d.backends[2].Close()
	d.until("one down", func(doc report.Document) bool { return doc.Stages.Down == 1 && doc.Store.PendingSlices == 0 })
	return page{Name: "node-down", URL: d.url, Picture: &picture{"status-node-down", 1200, 860, "light"}}
}

func pictureOfHolding(t *testing.T) page {
	d := newDaemon(t, 6, workers(6), "EMPTY_RESULT_THRESHOLD=10", "SOURCE_POLL_INTERVAL=4s")
	d.until("all ready", func(doc report.Document) bool { return doc.Healthy })
	d.write(workers(2))
	d.until("hold", func(doc report.Document) bool {
		return doc.Mode == "Hold" && lasts(doc) && doc.Source.RejectedInventories > 1
	})
	return page{Name: "hold", URL: d.url, Picture: &picture{"status-hold-dark", 1000, 720, "dark"}}
}

func pictureOfFailingOpen(t *testing.T) page {
	d := newDaemon(t, 2, workers(2))
	d.until("all ready", func(doc report.Document) bool { return doc.Healthy })
	for _, b := range d.backends {
		b.Close()
	}
	d.until("fail open", func(doc report.Document) bool { return doc.Mode == "FailOpen" && lasts(doc) })
	return page{Name: "fail-open", URL: d.url, Picture: &picture{"status-fail-open-phone", 375, 720, "light"}}
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
