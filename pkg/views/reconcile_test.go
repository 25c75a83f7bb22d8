package views_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// piecemeal is a server whose stream comes line by line: each request is answered by the
// next pipe.
type piecemeal chan io.ReadCloser

func (p piecemeal) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: <-p}, nil
}

// calls are the states that a Reconciler was given, as ADDRESS=STATE; refuse makes it fail.
type calls struct {
	mu     sync.Mutex
	got    []string
	refuse bool
}

func (c *calls) Reconcile(_ context.Context, _ views.PortKey, endpoints []views.Endpoint) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var states []string
	for _, e := range endpoints {
		states = append(states, e.Address+"="+string(e.State))
	}
	if c.got = append(c.got, strings.Join(states, " ")); c.refuse {
		return errors.New("the proxy is away")
	}
	return nil
}

func (c *calls) refusing(refuse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = refuse
}

// reconciling runs a Reconciler behind a stream that test writes to. given compares what it
// was given since the last call of that.
func reconciling(t *testing.T, test func(r *calls, stream piecemeal, given func(want ...string))) {
	bubble.Test(t, func(t *testing.T) {
		r := &calls{}
		running(t, r, func(stream piecemeal) {
			test(r, stream, func(want ...string) {
				t.Helper()
				synctest.Wait()
				r.mu.Lock()
				defer r.mu.Unlock()
				if !slices.Equal(r.got, want) {
					t.Errorf("got  %q\nwant %q", r.got, want)
				}
				r.got = nil
			})
		})
	})
}

// running runs a Reconciler behind a stream that test writes to, and returns when it has ended.
func running(t *testing.T, r views.Reconciler, test func(stream piecemeal)) {
	t.Helper()
	stream := make(piecemeal, 1)
	client, err := views.New(views.Options{Servers: []string{"http://views"}, HTTP: &http.Client{Transport: stream}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx, r) }()
	test(stream)
	cancel()
	close(stream)
	<-ended
}

// open answers the next request, and returns what writes lines of the answer.
func (p piecemeal) open() (say func(lines ...string), end func()) {
	body, out := io.Pipe()
	p <- body
	return func(lines ...string) { fmt.Fprintln(out, strings.Join(lines, "\n")) }, func() { _ = out.Close() }
}

// TestContract42RunGivesAPortAtTheMarkThatEndsAChange: in each change of the slice one
// endpoint goes down and the other one comes up, and the change comes in two pieces.
func TestContract42RunGivesAPortAtTheMarkThatEndsAChange(t *testing.T) {
	reconciling(t, func(_ *calls, stream piecemeal, given func(...string)) {
		say, end := stream.open()
		say(line("ADDED", "a", "ready", "1.1"))
		given()
		say(line("ADDED", "b", "down", "1.1"), mark("1.1"))
		given("a=ready b=down")
		say(line("MODIFIED", "a", "down", "1.2"))
		given()
		say(line("MODIFIED", "b", "ready", "1.2"), mark("1.2"))
		given("a=down b=ready")
		say(line("DELETED", "b", "ready", "1.3"))
		given()
		say(line("ADDED", "c", "ready", "1.3"), mark("1.3"))
		given("a=down c=ready")
		say(mark("1.4"))
		given()
		end()
	})
}

// TestContract42RunGivesTheLastWholeStateAgain: a call that failed is repeated in the middle
// of a change.
func TestContract42RunGivesTheLastWholeStateAgain(t *testing.T) {
	reconciling(t, func(r *calls, stream piecemeal, given func(...string)) {
		r.refusing(true)
		say, end := stream.open()
		say(line("ADDED", "a", "ready", "1.1"), line("ADDED", "b", "down", "1.1"), mark("1.1"))
		given("a=ready b=down")
		say(line("MODIFIED", "a", "down", "1.2"))
		given()
		time.Sleep(time.Second) // of the bubble
		given("a=ready b=down", "a=ready b=down")
		r.refusing(false)
		say(line("MODIFIED", "b", "ready", "1.2"), mark("1.2"))
		given("a=down b=ready")
		time.Sleep(time.Minute)
		given()
		end()
	})
}

// TestAReconcilerThatFailsIsCalledNoMoreOftenBecauseThePortChanges: but for each change once.
func TestAReconcilerThatFailsIsCalledNoMoreOftenBecauseThePortChanges(t *testing.T) {
	reconciling(t, func(r *calls, stream piecemeal, given func(...string)) {
		r.refusing(true)
		say, end := stream.open()
		say(line("ADDED", "a", "ready", "1.1"), mark("1.1"))
		time.Sleep(10 * time.Second) // of the bubble
		given("a=ready", "a=ready", "a=ready", "a=ready", "a=ready", "a=ready")
		for _, state := range []string{"down", "ready"} {
			say(line("MODIFIED", "a", state, "1.2"), mark("1.2"))
			given("a=" + state)
			time.Sleep(5 * time.Second)
			given()
		}
		end()
	})
}

// TestContract42RunGivesNoHalfOfAChangeThatBrokeOff: the rest of it comes with everything
// else, from another server.
func TestContract42RunGivesNoHalfOfAChangeThatBrokeOff(t *testing.T) {
	reconciling(t, func(_ *calls, stream piecemeal, given func(...string)) {
		say, end := stream.open()
		say(line("ADDED", "a", "ready", "1.1"), line("ADDED", "b", "down", "1.1"), mark("1.1"))
		given("a=ready b=down")
		say(line("MODIFIED", "a", "down", "1.2"))
		end()
		given()
		say, end = stream.open()
		say(line("ADDED", "a", "down", "1.2"), `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1.1"}}}`)
		time.Sleep(time.Second)
		given()
		say(line("ADDED", "b", "ready", "1.2"), mark("1.2"))
		given("a=down b=ready")
		end()
	})
}

// busy takes a second for each call, and notes when it was given a state of a Service last, and how
// often a Service.
type busy struct {
	mu    sync.Mutex
	got   map[string]time.Time
	count map[string]int
}

func (b *busy) Reconcile(_ context.Context, port views.PortKey, endpoints []views.Endpoint) error {
	time.Sleep(time.Second) // of the bubble
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got[port.Service+"="+string(endpoints[0].State)] = time.Now()
	b.count[port.Service]++
	return nil
}

// TestContract42APortThatAlwaysChangesHoldsUpNoOther: it comes first by its name, and is due again
// whenever the Reconciler is ready. Nor do others hold it up, which change more slowly.
func TestContract42APortThatAlwaysChangesHoldsUpNoOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := &busy{got: make(map[string]time.Time), count: make(map[string]int)}
		var died time.Time
		running(t, r, func(stream piecemeal) {
			of := func(service, line string) string { return strings.Replace(line, `"web"`, `"`+service+`"`, 1) }
			say, end := stream.open()
			for _, service := range []string{"api", "shop", "mail"} {
				say(of(service, line("ADDED", "a", "ready", "1.1")))
			}
			say(line("ADDED", "b", "ready", "1.1"), mark("1.1"))
			time.Sleep(10 * time.Second)
			died = time.Now()
			say(line("MODIFIED", "b", "down", "1.2"))
			for n := range 40 {
				state := []string{"down", "ready"}[n%2]
				if n%3 == 0 {
					say(of("shop", line("MODIFIED", "a", state, "1.2")), of("mail", line("MODIFIED", "a", state, "1.2")), mark("1.2"))
				}
				time.Sleep(250 * time.Millisecond)
				say(of("api", line("MODIFIED", "a", state, "1.2")), mark("1.2"))
				time.Sleep(250 * time.Millisecond)
			}
			end()
		})
		if got, given := r.got["web=down"]; !given || got.Sub(died) > 5*time.Second {
			t.Errorf("the endpoint that died was given after %s (given: %t), want 5 s at the most: there are four ports", got.Sub(died), given)
		}
		if got := r.count["api"]; got < 5 {
			t.Errorf("what always changes was given %d times in 20 s, want 5 at the least: %v", got, r.count)
		}
	})
}
