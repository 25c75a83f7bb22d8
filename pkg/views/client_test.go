package views_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// replica answers each stream by the next part of a script, and notes the token that
// it was asked with.
type replica struct {
	*httptest.Server

	mu     sync.Mutex
	script []part
	tokens []string
}

// part is one answer: a status other than 200, or lines, after which the stream is
// held open where hold says so.
type part struct {
	code  int
	lines []string
	hold  bool
}

func newReplica(t *testing.T, script ...part) *replica {
	t.Helper()
	r := &replica{script: script}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *replica) serve(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.tokens = append(r.tokens, request.URL.Query().Get("resourceVersion"))
	now := part{code: http.StatusServiceUnavailable}
	if len(r.script) > 0 {
		now, r.script = r.script[0], r.script[1:]
	}
	r.mu.Unlock()
	if now.code != 0 {
		w.WriteHeader(now.code)
		fmt.Fprintf(w, `{"kind":"Status","code":%d,"reason":"R","message":"m"}`, now.code)
		return
	}
	for _, line := range now.lines {
		fmt.Fprintln(w, line)
	}
	_ = http.NewResponseController(w).Flush() // a test server's can
	if now.hold {
		<-request.Context().Done()
	}
}

// line is an event of the stream for an endpoint of the Service web.
func line(kind views.EventType, address, state, token string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"kind":"EndpointView","metadata":{"namespace":"shop","name":%q,"resourceVersion":%q},`+
		`"spec":{"serviceName":"web","portName":"http","port":80,"address":%q,"targetPort":8080,"state":%q}}}`, kind, "web."+address, token, address, state)
}

func mark(token string) string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":%q,"annotations":{"k8s.io/initial-events-end":"true"}}}}`, token)
}

const gone = `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"m"}}`

// follow watches until so many events were told, and returns them in short.
func follow(t *testing.T, count int, servers ...string) []string {
	t.Helper()
	return followOver(t, http.DefaultTransport, count, servers...)
}

func followOver(t *testing.T, way http.RoundTripper, count int, servers ...string) []string {
	t.Helper()
	client, err := views.New(views.Options{Servers: servers, HTTP: &http.Client{Transport: way}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var got []string
	enough := errors.New("enough")
	err = client.Watch(ctx, func(e views.Event) error {
		text := string(e.Type)
		if e.View != nil {
			text += " " + e.View.Spec.Address + " " + string(e.View.Spec.State)
		}
		if got = append(got, text); len(got) == count {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("got %v after %v", err, got)
	}
	return got
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

func TestContract42WatchGoesOnWhereAStreamEnded(t *testing.T) {
	r := newReplica(t,
		part{lines: []string{line("ADDED", "a", "ready", "1.1"), mark("5.5"), line("ADDED", "b", "ready", "5.6"), mark("5.6")}},
		part{lines: []string{line("ADDED", "b", "ready", "5.6"), line("MODIFIED", "a", "down", "5.7")}, hold: true},
	)
	same(t, follow(t, 4, r.URL), "ADDED a ready", "SYNCED", "ADDED b ready", "MODIFIED a down")
	same(t, r.tokens, "", "5.6")
}

// TestContract42WatchGoesOnFromAMarkOnly: what a replica showed in the middle of a change
// may never be at another one.
func TestContract42WatchGoesOnFromAMarkOnly(t *testing.T) {
	r := newReplica(t,
		part{lines: []string{line("ADDED", "a", "ready", "1.1"), mark("5.5"), line("ADDED", "b", "ready", "5.6")}},
		part{lines: []string{line("ADDED", "a", "ready", "5.6"), mark("5.7")}, hold: true},
	)
	same(t, follow(t, 5, r.URL), "ADDED a ready", "SYNCED", "ADDED b ready", "DELETED b ready", "SYNCED")
	same(t, r.tokens, "", "")
}

func TestWatchComparesEverythingAfter410(t *testing.T) {
	r := newReplica(t,
		part{lines: []string{line("ADDED", "a", "ready", "1.1"), line("ADDED", "b", "ready", "1.1"), mark("5.5"), gone}},
		part{lines: []string{line("ADDED", "b", "ready", "8.8"), line("ADDED", "c", "ready", "8.8"), mark("9.9")}, hold: true},
	)
	same(t, follow(t, 6, r.URL), "ADDED a ready", "ADDED b ready", "SYNCED", "ADDED c ready", "DELETED a ready", "SYNCED")
	same(t, r.tokens, "", "")
}

func TestWatchPortsTellsOfAPortAsAWhole(t *testing.T) {
	gathered := func(kind views.EventType, state, since, token string) string {
		return fmt.Sprintf(`{"type":%q,"object":{"kind":"ServicePortView","metadata":{"namespace":"shop","name":"web.http","resourceVersion":%q},`+
			`"spec":{"serviceName":"web","portName":"http","port":80,"endpoints":[{"address":"10.0.0.1","targetPort":8080,"state":%q,"since":%q}]}}}`, kind, token, state, since)
	}
	r := newReplica(t,
		part{lines: []string{gathered(views.Added, "ready", "2020-01-01T00:00:00Z", "1.1"), mark("1.1")}},
		part{lines: []string{gathered(views.Modified, "ready", "2021-01-01T00:00:00Z", "1.2"), gathered(views.Modified, "down", "2021-01-01T00:00:00Z", "1.3")}, hold: true})
	client, err := views.New(views.Options{Servers: []string{r.URL}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	done := errors.New("done")
	err = client.WatchPorts(t.Context(), func(e views.PortEvent) error {
		if e.Type == views.Synced {
			return nil
		}
		got = append(got, string(e.Type)+" "+string(e.View.Spec.Endpoints[0].State))
		if e.Type == views.Modified {
			return done
		}
		return nil
	})
	if want := []string{"ADDED ready", "MODIFIED down"}; !errors.Is(err, done) || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v: a time that differs between replicas is no change", got, err, want)
	}
}

func TestATokenThatIsRefusedIsGivenUp(t *testing.T) {
	r := newReplica(t,
		part{lines: []string{line("ADDED", "a", "ready", "1.1"), mark("5.5")}},
		part{code: http.StatusGone},
		part{lines: []string{line("ADDED", "a", "down", "8.8"), mark("9.9")}, hold: true},
	)
	same(t, follow(t, 4, r.URL), "ADDED a ready", "SYNCED", "MODIFIED a down", "SYNCED")
	same(t, r.tokens, "", "5.5", "")
}

func TestContract42NothingIsDeletedBecauseAServerIsAway(t *testing.T) {
	r := newReplica(t,
		part{lines: []string{line("ADDED", "a", "ready", "1.1"), mark("5.5")}},
		part{code: http.StatusServiceUnavailable}, part{code: http.StatusInternalServerError}, part{lines: []string{`{"type":`}}, part{},
		part{lines: []string{line("ADDED", "b", "ready", "6.6")}, hold: true},
	)
	same(t, follow(t, 3, r.URL), "ADDED a ready", "SYNCED", "ADDED b ready")
}

// TestContract42ABeginningThatBreaksOffDeletesNothing: what a replica has not told yet is not
// gone.
func TestContract42ABeginningThatBreaksOffDeletesNothing(t *testing.T) {
	r := newReplica(t,
		part{lines: []string{line("ADDED", "a", "ready", "1.1"), line("ADDED", "b", "ready", "1.1"), mark("5.5"), gone}},
		part{lines: []string{line("ADDED", "b", "ready", "8.8")}},
		part{lines: []string{line("ADDED", "a", "ready", "8.8"), line("ADDED", "b", "ready", "8.8"), mark("9.9")}, hold: true},
	)
	same(t, follow(t, 4, r.URL), "ADDED a ready", "ADDED b ready", "SYNCED", "SYNCED")
	same(t, r.tokens, "", "", "")
}

// answers is a way to servers: a code, or none where the server is away, and the lines, by
// the name of the server and the token.
type answers func(server, token string) (code int, lines string)

func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	code, lines := a(request.URL.Host, request.URL.Query().Get("resourceVersion"))
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(lines))}, nil
}

// beginning is what a server tells that has the endpoint a.
var beginning = line("ADDED", "a", "ready", "1.1") + "\n" + mark("500.500")

// TestContract42ATokenThatNoReplicaKnowsIsGivenUpInTheEnd: the cluster was restored from a
// backup, and one of two servers is away.
func TestContract42ATokenThatNoReplicaKnowsIsGivenUpInTheEnd(t *testing.T) {
	for name, other := range map[string]int{"refuses connections": 0, "is not current": http.StatusGatewayTimeout} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				restored, behind := false, 0
				way := answers(func(server, token string) (int, string) {
					switch {
					case !restored:
						restored = true
						return http.StatusOK, beginning
					case server == "other":
						return other, ""
					case token == "":
						return http.StatusOK, mark("5.5")
					}
					behind++
					return http.StatusServiceUnavailable, ""
				})
				same(t, followOver(t, way, 4, "http://other", "http://current"), "ADDED a ready", "SYNCED", "DELETED a ready", "SYNCED")
				if behind != 8 {
					t.Errorf("got %d times that the token is not known, want 8", behind)
				}
			})
		})
	}
}

// TestContract42AServerThatIsNotCurrentTakesNoTokenAway: it says nothing of the token. What
// it knows is old, and the server that told the token is away for a while.
func TestContract42AServerThatIsNotCurrentTakesNoTokenAway(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		asked := 0
		way := answers(func(_, token string) (int, string) {
			switch asked++; {
			case asked == 1:
				return http.StatusOK, beginning
			case token == "":
				return http.StatusOK, mark("5.5")
			case asked < 20:
				return http.StatusGatewayTimeout, ""
			}
			return http.StatusOK, line("ADDED", "b", "ready", "500.502")
		})
		same(t, followOver(t, way, 3, "http://stale"), "ADDED a ready", "SYNCED", "ADDED b ready")
	})
}

// TestContract42AServerThatGoesOnEndsTheCount: one that is behind now and then has nothing to
// do with a backup.
func TestContract42AServerThatGoesOnEndsTheCount(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		asked := 0
		way := answers(func(_, token string) (int, string) {
			switch asked++; {
			case asked == 1:
				return http.StatusOK, beginning
			case token == "":
				return http.StatusOK, mark("5.5")
			case asked == 30:
				return http.StatusOK, line("ADDED", "b", "ready", "500.502")
			case asked%4 == 0:
				return http.StatusOK, mark("500.500")
			}
			return http.StatusServiceUnavailable, ""
		})
		same(t, followOver(t, way, 3, "http://behind"), "ADDED a ready", "SYNCED", "ADDED b ready")
	})
}

// quiet is a way to a server that tells the beginning, and nothing more where its node is gone. It
// notes when it is asked.
type quiet struct {
	asked []time.Time
	after func(streams int, say io.Writer)
}

func (q *quiet) RoundTrip(request *http.Request) (*http.Response, error) {
	q.asked = append(q.asked, time.Now())
	streams := len(q.asked)
	body, say := io.Pipe()
	context.AfterFunc(request.Context(), func() { _ = say.CloseWithError(request.Context().Err()) })
	go func() {
		fmt.Fprintln(say, beginning)
		q.after(streams, say)
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
}

// TestContract42AReplicaWhoseNodeIsGoneIsLeftWithinHalfAMinute: endpoints may have gone with it.
func TestContract42AReplicaWhoseNodeIsGoneIsLeftWithinHalfAMinute(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		way := &quiet{after: func(streams int, say io.Writer) {
			if streams > 1 {
				fmt.Fprintln(say, line("MODIFIED", "a", "down", "500.501"))
			}
		}}
		same(t, followOver(t, way, 3, "http://views"), "ADDED a ready", "SYNCED", "MODIFIED a down")
		if got := way.asked[1].Sub(way.asked[0]); got > 30*time.Second {
			t.Errorf("another replica is asked after %s, want 30 s at the most", got)
		}
	})
}

// TestContract42ACallerThatTakesLongMakesNoServerSilent: the stream goes on where it was.
func TestContract42ACallerThatTakesLongMakesNoServerSilent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		way := &quiet{after: func(_ int, say io.Writer) { fmt.Fprintln(say, line("MODIFIED", "a", "down", "500.501")) }}
		client, err := views.New(views.Options{Servers: []string{"http://views"}, HTTP: &http.Client{Transport: way}})
		if err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		err = client.Watch(t.Context(), func(e views.Event) error {
			time.Sleep(5 * time.Minute) // of the bubble
			if e.Type == views.Modified {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || len(way.asked) != 1 {
			t.Errorf("got %v after %d streams, want one", err, len(way.asked))
		}
	})
}

func TestAnotherServerIsTakenWhereOneIsAway(t *testing.T) {
	r := newReplica(t, part{lines: []string{line("ADDED", "a", "ready", "1.1"), mark("5.5")}, hold: true})
	same(t, follow(t, 2, "http://127.0.0.1:1", r.URL), "ADDED a ready", "SYNCED")
}

// reconciler notes what it is given, and fails the first time.
type reconciler struct {
	mu     sync.Mutex
	calls  []string
	failed bool
	done   func()
	enough int
}

func (r *reconciler) Reconcile(_ context.Context, port views.PortKey, endpoints []views.Endpoint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := port.Namespace + "/" + port.Service + ":" + port.Port
	for _, e := range endpoints {
		text += " " + e.Address
	}
	if r.calls = append(r.calls, text); len(r.calls) == r.enough {
		r.done()
	}
	if !r.failed {
		r.failed = true
		return errors.New("the proxy is away")
	}
	return nil
}

func TestContract42RunGivesAPortAsAWholeAndAgainWhereThatFailed(t *testing.T) {
	r := newReplica(t,
		part{lines: []string{line("ADDED", "b", "ready", "1.1"), line("ADDED", "a", "ready", "1.1"), mark("5.5")}},
		part{lines: []string{}}, part{lines: []string{}}, part{lines: []string{}},
		part{lines: []string{line("DELETED", "a", "ready", "5.6"), line("DELETED", "b", "ready", "5.6"), mark("5.6")}, hold: true},
	)
	client, err := views.New(views.Options{Servers: []string{r.URL}, Ready: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	does := &reconciler{done: cancel, enough: 3}
	if err := client.Run(ctx, does); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	does.mu.Lock()
	defer does.mu.Unlock()
	if want := []string{"shop/web:http a b", "shop/web:http a b"}; !slices.Equal(does.calls[:2], want) {
		t.Errorf("got %q, want both endpoints, and again", does.calls)
	}
	if last := does.calls[len(does.calls)-1]; last != "shop/web:http" {
		t.Errorf("got %q, want none", last)
	}
}

func TestOptionsThatCannotBeRightAreRefused(t *testing.T) {
	for _, options := range []views.Options{
		{}, {Servers: []string{"endpoint-views:8443"}}, {Servers: []string{"ftp://x"}},
		{Servers: []string{"https://x"}, HTTP: &http.Client{Timeout: time.Second}},
	} {
		if _, err := views.New(options); err == nil {
			t.Errorf("%+v: got no error", options)
		}
	}
}

func TestListTakesNoAnswerThatIsNone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	defer server.Close()
	client, err := views.New(views.Options{Servers: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.List(t.Context()); err == nil {
		t.Error("got an empty list of an answer that is none")
	}
}
