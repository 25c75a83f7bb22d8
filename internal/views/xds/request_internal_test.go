package xds

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// streamLog is a stream that notes when it is sent an answer.
type streamLog struct {
	grpc.ServerStream

	at []time.Time
	// read is closed when the client reads, nil where it does at once.
	read <-chan struct{}
}

func (n *streamLog) SendMsg(any) error {
	n.at = append(n.at, time.Now())
	if n.read != nil {
		<-n.read
	}
	return nil
}

// waiting is a proxy to which an answer with a route is to be sent.
func waiting() (*client, *streamLog) {
	f, stream := newFleet("shop/edge"), &streamLog{}
	c := hung(f)
	c.server.stats.of = map[Protocol]*[envoyconfig.Kinds]outcomes{Envoy: {}}
	c.account, c.node, c.wire = &account{}, &corev3.Node{Id: "a"}, stream
	c.replies <- reply{kind: envoyconfig.Routes, resources: []*discoveryv3.Resource{{Name: "port-8080", Version: "1"}}}
	return c, stream
}

// TestContract141ARequestForgetsWhatWasToBeSentBeforeIt: a route that a proxy does not ask for
// any more is none that it has yet to acknowledge, also where it changed at that moment.
func TestContract141ARequestForgetsWhatWasToBeSentBeforeIt(t *testing.T) {
	c, stream := waiting()
	err := c.hear(clientRequest{typeURL: envoyconfig.Routes.TypeURL(), wish: wish{fewer: []string{"port-8080"}}})
	for len(c.replies) > 0 && err == nil {
		err = c.send(<-c.replies)
	}
	if err != nil || len(stream.at) != 1 {
		t.Fatalf("%d answers were sent, %v", len(stream.at), err)
	}
	if !c.follows(envoyconfig.Routes, nil) {
		t.Error("the proxy is waited for until its stream ends")
	}
}

// TestContract66AnswersDoNotWaitForARequestThatIsHeldUp: its identity has named too much.
func TestContract66AnswersDoNotWaitForARequestThatIsHeldUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, stream := waiting()
		began := time.Now()
		c.account.said, c.account.asOf = namesAtOnce+20*namesASecond, began
		done := make(chan error, 1)
		go func() {
			done <- c.hear(clientRequest{typeURL: envoyconfig.Endpoints.TypeURL(), wish: wish{more: []string{"web.shop:80"}}})
		}()
		synctest.Wait()
		if len(stream.at) != 1 || stream.at[0] != began {
			t.Errorf("answers were sent at %v, want one at once", stream.at)
		}
		if err := <-done; err != nil || time.Since(began) < 20*time.Second {
			t.Errorf("the request is heard after %v, %v", time.Since(began), err)
		}
	})
}

// TestContract146AStreamThatHoldsTheSlotReadsInTime: others wait for it. It does not count how long
// the request is held up.
func TestContract146AStreamThatHoldsTheSlotReadsInTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, stream := waiting()
		ctx, end := context.WithCancelCause(t.Context())
		defer end(nil)
		began, left := time.Now(), false
		c.account.said, c.account.asOf = namesAtOnce+20*namesASecond, began
		c.end, c.ended, stream.read = end, ctx.Done(), ctx.Done()
		held := &slot{late: time.AfterFunc(requestTime, func() { end(errStops) }), leave: func() { left = true }}
		if err := c.hear(clientRequest{typeURL: envoyconfig.Endpoints.TypeURL(), slot: held}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); !left || took < 20*time.Second+requestTime || took > 22*time.Second+requestTime {
			t.Errorf("the stream ends after %v, and has left the slot: %v", took, left)
		}
	})
}

// TestContract147RejectionsAreBounded: a client may ask for the same again and reject it each time, and
// the log tells each.
func TestContract147RejectionsAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, _ := waiting()
		var log bytes.Buffer
		c.server.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		again, began := <-c.replies, time.Now()
		const rejections = 5000
		for range rejections {
			if err := c.send(again); err != nil {
				t.Fatal(err)
			}
			if err := c.hear(clientRequest{typeURL: envoyconfig.Routes.TypeURL(), nonce: c.kinds[envoyconfig.Routes].newest, text: "no"}); err != nil {
				t.Fatal(err)
			}
		}
		if told := strings.Count(log.String(), "rejects its newest configuration"); told != rejections {
			t.Errorf("%d of %d rejections are told", told, rejections)
		}
		// What is said at once after a time of rest counts for two seconds.
		if took := time.Since(began); took < (rejections/200-2)*time.Second {
			t.Errorf("%d rejections are heard in %v", rejections, took)
		}
	})
}
