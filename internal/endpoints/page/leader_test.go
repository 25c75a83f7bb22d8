package page_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// standing is a replica that stands by for pod-a and gets that from it.
func standing(t *testing.T, leader func(context.Context) (*report.Document, error)) *world {
	t.Helper()
	w := newWorld(t, func(o *page.Options) {
		o.Ask = func(ctx context.Context, path string, into report.Answer) (bool, error) {
			d, err := leader(ctx)
			if one, ok := into.(*report.Document); ok && d != nil && path == "/services/default/web" {
				*one = *d
			}
			return d != nil, err
		}
	})
	w.doc = report.Document{
		Headline: report.Headline{
			Head:    report.Head{APIVersion: report.APIVersion, At: w.doc.At, Election: report.Election{Enabled: true, Holder: "pod-a"}},
			Summary: "standing by for default/web; pod-a leads", Condition: report.StandingBy,
		},
		PoolState: report.PoolState{ModeState: report.ModeState{Mode: "Publish"}},
	}
	return w
}

func TestAStandbyShowsWhatTheLeaderSays(t *testing.T) {
	t.Parallel()
	w := standing(t, func(context.Context) (*report.Document, error) {
		d := threeNodes()
		d.Election, d.HandedOnBy, d.Condition = report.Election{Enabled: true, Holder: "pod-a"}, "pod-b", report.Degraded
		return &d, nil
	})
	body := w.page("").body
	for _, want := range []string{"1 of 2 nodes ready in default/web", "ProbeRefused", "! Degraded", "The status of the leader", "pod-a leads and says what follows.", "pod-b answers here."} {
		if !strings.Contains(strings.ReplaceAll(body, "</span>", ""), want) {
			t.Errorf("the page says nothing of %q:\n%s", want, body)
		}
	}
	text := w.ask(http.MethodGet, w.admin, "/api/v1/services/default/web").body
	for _, want := range []string{`"condition":"Degraded"`, `"handedOnBy":"pod-b"`, `"reason":"ProbeRefused"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the document says nothing of %s:\n%s", want, text)
		}
	}
}

func TestAStandbySaysWhyItHasNothingOfTheLeader(t *testing.T) {
	t.Parallel()
	w := standing(t, func(context.Context) (*report.Document, error) { return nil, errors.New("nothing listens there") })
	body := w.page("").body
	for _, want := range []string{"pod-a leads, but its status cannot be read", "! Standing by", "Its status cannot be read: nothing listens there.", "METRICS_ADDRESS"} {
		if !strings.Contains(strings.ReplaceAll(body, "</span>", ""), want) {
			t.Errorf("the page says nothing of %q:\n%s", want, body)
		}
	}
	text := w.ask(http.MethodGet, w.admin, "/api/v1/services/default/web").body
	for _, want := range []string{`"condition":"StandingBy"`, `"healthy":false`, `"leaderError":"nothing listens there"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the document says nothing of %s:\n%s", want, text)
		}
	}
}

func TestOnlyTheLeaderAnswersAndOnlyThoseThatNameIt(t *testing.T) {
	t.Parallel()
	identity := "pod-a_XYZ"
	w := newWorld(t, func(o *page.Options) {
		o.Identity = func() string { return identity }
		o.Ask = func(context.Context, string, report.Answer) (bool, error) { return false, errors.New("it asks others") }
	})
	ask := func(named string) answer {
		return w.ask(http.MethodGet, w.metrics, page.LeaderPath+"/services/default/web", [2]string{"Authorization", named})
	}
	if got := ask("Bearer " + identity); got.code != http.StatusOK || !strings.Contains(got.body, `"reason":"ProbeRefused"`) || strings.Contains(got.body, "it asks others") {
		t.Errorf("got %d, want its own document:\n%s", got.code, got.body)
	}
	for _, named := range []string{"", "Bearer ", "Bearer pod-a", "Bearer pod-b_XYZ", identity} {
		if got := ask(named); got.code != http.StatusForbidden || strings.Contains(got.body, "ProbeRefused") {
			t.Errorf("%q: got %d, want 403 and no document:\n%s", named, got.code, got.body)
		}
	}
	w.set(func() { identity = "" })
	for _, named := range []string{"", "Bearer ", "Bearer pod-a_XYZ"} {
		if got := ask(named); got.code != http.StatusForbidden {
			t.Errorf("%q of a standby: got %d, want 403", named, got.code)
		}
	}
}

// A leader that hangs keeps a reader waiting, and no place where documents are made.
func TestALeaderThatHangsKeepsNoOtherReaderWaiting(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 4)
	w := standing(t, func(ctx context.Context) (*report.Document, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	for range cap(asked) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.admin+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if response, err := w.client.Do(request); err == nil {
				response.Body.Close()
			}
		}()
	}
	for range cap(asked) {
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatal("the leader is not asked")
		}
	}
	if got := w.ask(http.MethodGet, w.admin, "/configz"); got.code != http.StatusOK {
		t.Errorf("got %d meanwhile, want 200", got.code)
	}
}
