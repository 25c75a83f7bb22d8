package kube_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// calmServer is an API server where nothing changes. Like a real one it sends a bookmark
// two seconds before a watch ends, and ends it in time.
type calmServer struct {
	mu sync.Mutex
	// streams says that it can begin a watch with the list.
	streams bool
	// silent watches bring nothing, not even the bookmark. Watches that last so long at
	// most are cut then, and code is the answer to a watch that resumes, 0 for a stream.
	silent bool
	cut    time.Duration
	code   int
	// rare says that a watch brings a bookmark only if there was a list since it began, as where
	// etcd reports its progress rarely.
	rare bool
	// broken says that a watch which begins with the list ends in the middle of it.
	broken bool
	// unlisted says that no list is answered, unwatched that no watch is.
	unlisted, unwatched bool

	lists, watches int
	// listed is how many lists there were apart, by path.
	listed   map[string]int
	revision int
}

func (s *calmServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// counts returns how many lists and watches there were, each complete list once.
func (s *calmServer) counts() (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.watches
}

func (s *calmServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	begins, watches := query.Has("sendInitialEvents"), query.Has("watch")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !watches && s.unlisted, watches && s.unwatched:
		s.mu.Unlock()
		defer s.mu.Lock()
		<-r.Context().Done()
		return nil, r.Context().Err()
	case begins && !s.streams:
		return answer(r, http.StatusUnprocessableEntity, ""), nil
	case !watches:
		s.lists++
		if s.listed == nil {
			s.listed = make(map[string]int)
		}
		s.listed[r.URL.Path]++
		return answer(r, http.StatusOK, fmt.Sprintf(`{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"%d"},"items":[]}`, s.revision)), nil
	case s.code != 0:
		s.watches++
		return answer(r, s.code, ""), nil
	}
	s.watches++
	if begins {
		s.lists++
	}
	response := answer(r, http.StatusOK, "")
	if begins && s.broken {
		return answer(r, http.StatusOK, `{"type":"ADDED","object":{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","resourceVersion":"3"}}}`+"\n"), nil
	}
	response.Body = s.stream(r.Context(), begins, seconds(query.Get("timeoutSeconds")))
	return response, nil
}

func seconds(text string) time.Duration {
	n, _ := strconv.Atoi(text)
	return time.Duration(n) * time.Second
}

// stream is the body of a watch.
func (s *calmServer) stream(ctx context.Context, begins bool, lasts time.Duration) io.ReadCloser {
	body, stream := io.Pipe()
	silent, cut, lists := s.silent, s.cut, s.lists
	if cut == 0 {
		cut = lasts
	}
	go func() {
		defer stream.Close()
		if begins && !silent {
			s.bookmark(stream, `"k8s.io/initial-events-end":"true"`)
		}
		if before := lasts - 2*time.Second; before < cut {
			if kube.Wait(ctx, before) && !silent && s.moved(lists) {
				s.bookmark(stream, "")
			}
			cut = lasts - before
		}
		kube.Wait(ctx, cut)
	}()
	return body
}

// moved reports whether the revision of the server is another one than after so many lists.
func (s *calmServer) moved(lists int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.rare || s.lists > lists
}

func (s *calmServer) bookmark(stream io.Writer, annotations string) {
	s.mu.Lock()
	s.revision++
	revision := s.revision
	s.mu.Unlock()
	_, _ = fmt.Fprintf(stream, `{"type":"BOOKMARK","object":{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"%d","annotations":{%s}}}}`+"\n", revision, annotations)
}

func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		Request: r, StatusCode: code, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// atRest runs the test in a bubble with a reflector that has listed once.
func atRest(t *testing.T, s *calmServer, test func(r *kube.Reflector)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		s.revision = 10
		config := &rest.Config{Host: "https://192.0.2.1"}
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return s })
		r := &kube.Reflector{
			Client: newClient(t, kube.Fixed(config), 0), What: "leases", Resource: kube.Leases("n"),
			Object: &coordinationv1.Lease{},
			Store: &kube.Feed[*coordinationv1.Lease, string]{
				Lock: &sync.Mutex{}, SetAll: func([]string, string) error { return nil },
				Read: func(o *coordinationv1.Lease) (string, error) { return o.Name, nil },
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		synctest.Wait()
		test(r)
		stop()
		running.Wait()
	})
}

// servers are those that can begin a watch with the list, and those that cannot.
func servers(t *testing.T, test func(t *testing.T, streams bool)) {
	t.Helper()
	for name, streams := range map[string]bool{"lists are streamed": true, "lists are apart": false} {
		t.Run(name, func(t *testing.T) { test(t, streams) })
	}
}

// current fails the test if the store is not current at each second of the time.
func current(t *testing.T, r *kube.Reflector, d time.Duration) {
	t.Helper()
	for range d / time.Second {
		time.Sleep(time.Second)
		if _, err := r.Stale(time.Now()); err != nil {
			t.Fatalf("got %v, want a store that is current", err)
		}
	}
}

// A server at rest sends a bookmark before the end of each watch. That is proof enough.
func TestContract22AtRestNothingIsListedAgain(t *testing.T) {
	servers(t, func(t *testing.T, streams bool) {
		s := &calmServer{streams: streams}
		atRest(t, s, func(r *kube.Reflector) {
			current(t, r, time.Hour)
			lists, watches := s.counts()
			if lists != 1 || watches < 120 || watches > 180 {
				t.Errorf("got %d lists and %d watches in an hour, want one list and a watch each half a minute", lists, watches)
			}
		})
	})
}

// besides runs the test with reflectors of 99 more namespaces.
func besides(t *testing.T, r *kube.Reflector, test func(others []*kube.Reflector)) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	var others []*kube.Reflector
	for i := range 99 {
		other := &kube.Reflector{Client: r.Client, What: r.What, Resource: kube.Leases(fmt.Sprint("n", i)), Object: r.Object, Store: r.Store}
		others = append(others, other)
		running.Go(func() { other.Run(ctx) })
	}
	time.Sleep(time.Minute)
	test(others)
	stop()
	running.Wait()
}

// A list of one namespace shows for all how rarely the server sends bookmarks, and the
// bookmarks that it brings the others are as good as lists.
func TestContract174WhereBookmarksAreRareManyNamespacesListAsRarelyAsOne(t *testing.T) {
	s := &calmServer{rare: true}
	atRest(t, s, func(r *kube.Reflector) {
		besides(t, r, func(others []*kube.Reflector) {
			before, _ := s.counts()
			current(t, r, 10*time.Minute)
			// A watch misses the bookmark that a list of another one brings if it is about to end, so
			// how many lists there are is chance: 5 to 17 in 700 runs, 8 mostly.
			if lists, _ := s.counts(); lists-before > 30 {
				t.Errorf("got %d lists of 100 namespaces in 10 minutes at rest, want at most 30", lists-before)
			}
			s.set(func() { s.silent, s.unlisted = true, true })
			time.Sleep(time.Hour)
			for i, other := range others {
				if _, err := other.Stale(time.Now()); err == nil {
					t.Fatalf("namespace %d of a server that tells nothing: got a store that is current", i)
				}
			}
		})
	})
}

// Where a server that sent bookmarks falls silent, each namespace finds out by itself. A
// silence of s holds for s at least before it doubles, so one that was heard of meanwhile lists
// within 4s and one watch of 30 s: the first time 140 s after the server fell silent, and as
// s is 80 s by then, again 350 s later.
func TestContract174WhatOneNamespaceListsIsNoProofForAnother(t *testing.T) {
	s := &calmServer{}
	atRest(t, s, func(r *kube.Reflector) {
		besides(t, r, func(others []*kube.Reflector) {
			s.set(func() { s.silent, s.listed = true, nil })
			for want, wait := range []time.Duration{0, 150 * time.Second, 6 * time.Minute} {
				time.Sleep(wait)
				s.set(func() {
					for i := range others {
						path := fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/n%d/leases", i)
						if got := s.listed[path]; got < want {
							t.Errorf("namespace %d: got %d lists after %v more of silence, want at least %d", i, got, wait, want)
						}
					}
				})
			}
		})
	})
	s = &calmServer{}
	atRest(t, s, func(r *kube.Reflector) {
		besides(t, r, func(others []*kube.Reflector) {
			s.set(func() { s.silent, s.unlisted = true, true })
			time.Sleep(75 * time.Second) // the open watches still tell that they end
			for i, other := range others {
				if _, err := other.Stale(time.Now()); err == nil {
					t.Fatalf("namespace %d: got a store that is current 45 s after the last word", i)
				}
			}
		})
	})
}

// Contract 113: also long after the last bookmark.
func TestContract113AWatchThatIsCutAtRestCostsNoList(t *testing.T) {
	s := &calmServer{streams: true, cut: 15 * time.Second}
	atRest(t, s, func(r *kube.Reflector) {
		current(t, r, 30*time.Minute)
		if lists, watches := s.counts(); lists != 1 || watches < 40 {
			t.Errorf("got %d lists and %d watches, want one list and the watches that go on from it", lists, watches)
		}
	})
}

// The server accepts each watch, and tells nothing of what happens. Only a list does. A
// server without bookmarks does the same at rest, and then lists are a waste.
func TestContract36AServerThatTellsNothingIsAskedForACompleteListEverMoreRarely(t *testing.T) {
	servers(t, func(t *testing.T, streams bool) {
		s := &calmServer{streams: streams}
		atRest(t, s, func(r *kube.Reflector) {
			for range 3 {
				current(t, r, 5*time.Minute)
				before, _ := s.counts()
				s.set(func() { s.silent = true }) // the open watch still tells that it ends
				current(t, r, 63*time.Second)
				if lists, _ := s.counts(); lists != before+1 {
					t.Errorf("got %d lists after a silent minute, want one", lists-before)
				}
				s.set(func() { s.silent = false })
			}
			s.set(func() { s.silent = true })
			before, _ := s.counts()
			current(t, r, 10*time.Hour)
			if lists, _ := s.counts(); lists-before < 18 || lists-before > 30 {
				t.Errorf("got %d lists in ten silent hours, want one each half an hour at the end", lists-before)
			}
		})
	})
}

// Contract 36: also where the server had no bookmarks before.
func TestContract36AServerThatIsAwayIsToldWithin45Seconds(t *testing.T) {
	for name, c := range map[string]struct{ silent, accepts bool }{
		"no request is answered, bookmarks before":       {},
		"no request is answered, no bookmarks before":    {silent: true},
		"watches are accepted and tell nothing any more": {accepts: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &calmServer{silent: c.silent}
			atRest(t, s, func(r *kube.Reflector) {
				current(t, r, time.Hour)
				s.set(func() { s.unlisted, s.unwatched, s.silent = true, !c.accepts, true })
				if !c.silent {
					time.Sleep(30 * time.Second) // the open watch still tells that it ends
				}
				time.Sleep(45 * time.Second)
				if _, err := r.Stale(time.Now()); err == nil {
					t.Error("after 45 s: got a store that is current")
				}
				s.set(func() { s.unlisted, s.unwatched, s.silent = false, false, false })
				time.Sleep(15 * time.Second)
				current(t, r, time.Hour)
			})
		})
	}
}

// Contract 36: that the next watch was accepted shows nothing of the one that was cut.
func TestContract36AWatchThatWasCutAndResumedInSilenceIsToldWithin45Seconds(t *testing.T) {
	s := &calmServer{silent: true, cut: 18 * time.Second}
	atRest(t, s, func(r *kube.Reflector) {
		s.set(func() { s.unlisted = true })
		time.Sleep(45 * time.Second)
		if _, watches := s.counts(); watches < 2 {
			t.Errorf("got %d watches, want one that resumes", watches)
		}
		if _, err := r.Stale(time.Now()); err == nil {
			t.Error("45 s after the list: got a store that is current")
		}
	})
}

// Without a watch a list is out of date at once.
func TestWhereAWatchIsRefusedNoListIsAskedFor(t *testing.T) {
	s := &calmServer{streams: true, code: http.StatusForbidden}
	atRest(t, s, func(r *kube.Reflector) {
		time.Sleep(10 * time.Minute)
		if lists, watches := s.counts(); lists != 0 || watches < 200 {
			t.Errorf("got %d lists and %d watches in ten minutes, want no list and a watch each three seconds at least", lists, watches)
		}
	})
}

// A list that breaks off may be large, and break off again.
func TestContract33AStreamedListThatBreaksOffIsAskedForByItself(t *testing.T) {
	s := &calmServer{streams: true, broken: true}
	atRest(t, s, func(r *kube.Reflector) {
		current(t, r, 10*time.Minute)
		if lists, _ := s.counts(); r.Known().IsZero() || lists != 2 {
			t.Errorf("got %d lists, known since %v, want one that broke off and one by itself", lists, r.Known())
		}
	})
}

// Contract 33: each attempt costs a complete list, which may be large.
func TestContract33AServerWithoutLastingWatchesIsAskedEverMoreRarelyForACompleteList(t *testing.T) {
	for name, spoil := range map[string]func(*calmServer){
		"watches are cut at once":                     func(s *calmServer) { s.cut, s.silent = time.Millisecond, true },
		"watches are cut at once, lists are streamed": func(s *calmServer) { s.cut, s.streams = time.Millisecond, true },
		"watches are answered 500":                    func(s *calmServer) { s.code = http.StatusInternalServerError },
	} {
		t.Run(name, func(t *testing.T) {
			s := &calmServer{}
			spoil(s)
			atRest(t, s, func(*kube.Reflector) {
				time.Sleep(2 * time.Minute) // until the pauses are as long as they get
				before, _ := s.counts()
				time.Sleep(10 * time.Minute)
				lists, _ := s.counts()
				if got := lists - before; got < 20 || got > 60 {
					t.Errorf("got %d lists in 10 minutes, want one in 10 to 30 s", got)
				}
				s.set(func() { s.cut, s.code, s.silent = 0, 0, false })
				time.Sleep(2 * time.Minute)
				before, _ = s.counts()
				time.Sleep(10 * time.Minute)
				if lists, _ := s.counts(); lists != before {
					t.Errorf("got %d more lists after watches last again, want none", lists-before)
				}
			})
		})
	}
}

// Contract 2: an answer of a proxy, for example.
func TestContract02AListWithoutARevisionIsNone(t *testing.T) {
	config := &rest.Config{Host: "https://192.0.2.1"}
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return plain{} })
	r := &kube.Reflector{
		Client: newClient(t, kube.Fixed(config), 0), Resource: kube.Leases("n"), Object: &coordinationv1.Lease{},
		Store: &kube.Feed[*coordinationv1.Lease, string]{
			SetAll: func([]string, string) error { return errors.New("it was taken over") },
		},
	}
	r.ListOnce(t.Context())
	if err := r.Failed(); err == nil || !strings.Contains(err.Error(), "it has no resourceVersion") || !r.Known().IsZero() {
		t.Errorf("got %v, want that it is no list", err)
	}
}

// plain answers with an object that is not a list.
type plain struct{}

func (plain) RoundTrip(r *http.Request) (*http.Response, error) {
	return answer(r, http.StatusOK, "{}"), nil
}
