package controller_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract201WhatAHandOverWaitsForIsToldOnce: what else passes, as one endpoint comes and goes, is no news.
func TestContract201WhatAHandOverWaitsForIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, after := range map[string][]string{
		"another pool":  {bindingOf("shop/web", "red")},
		"another check": {bindingOf("shop/web", "blue", "ports: [{port: 9090}]")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w, pools := blueAndRed(t)
				w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6")
				w.pool("red", "10.0.1.1", "10.0.1.2")
				w.service("shop/web", "http:8080")
				w.documents(pools, bindingOf("shop/web", "blue"))
				var log bytes.Buffer
				w.logger = slog.New(slog.NewTextHandler(&log, nil))
				w.start()
				during(time.Minute)
				w.locked(func() {
					for i := range 5 {
						w.dead[fmt.Sprintf("10.0.0.%d:9090", i+1)] = true
					}
				})
				w.documents(append(after, pools)...)
				during(time.Minute)
				for range 10 {
					for _, dead := range []bool{true, false} {
						w.locked(func() { w.dead["10.0.1.2"], w.dead["10.0.0.5:9090"] = dead, dead })
						during(time.Minute)
					}
				}
				w.stop()
				events := w.toldOf("TakesOverWithLess")
				notices := strings.Count(log.String(), "reason=TakesOverWithLess")
				uses := strings.Count(log.String(), "but only")
				over := strings.Count(log.String(), "what=\"notice TakesOverWithLess\"")
				if events != 1 || notices != 1 || uses != 2 || over != 0 {
					t.Errorf("got %d events, %d notices, %d lines with the numbers, %d times over, want each once: %s", events, notices, uses, over, log.String())
				}
			})
		})
	}
}

// TestContract232AFamilyThatIsNotUsedIsToldOnce, however many endpoints of it there are.
func TestContract232AFamilyThatIsNotUsedIsToldOnce(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.locked(func() { w.services["shop/web"].IPv4 = false })
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(time.Minute)
		for _, nodes := range [][]string{{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, {"10.0.0.1", "10.0.0.2"}} {
			w.pool("blue", nodes...)
			during(2*worldPoll + worldDrain)
		}
		if got := w.toldOf("FamilyUnused"); got != 1 {
			t.Errorf("got %d Events, want one: %v", got, w.events)
		}
		w.stop()
	})
}

// TestContract204SlicesOfAPoolThatIsGoneAreToldOnce: a Service may have several of them.
func TestContract204SlicesOfAPoolThatIsGoneAreToldOnce(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		for _, name := range []string{"web.gone", "web-remote"} {
			w.slices["shop/"+name] = storedSlice{publish.Slice{Name: name, Version: "1", Endpoints: endpoints("10.9.0.1")}, "shop", "web", "gone"}
		}
		w.documents(pools)
		var log bytes.Buffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		w.start()
		during(5 * time.Minute)
		w.stop()
		if told := strings.Count(log.String(), "slices of a pool that no document describes"); told != 1 {
			t.Errorf("told %d times: %s", told, log.String())
		}
	})
}

// TestContract60ThatServicesAreKeptIsToldOnce: one Service more or less is no news.
func TestContract60ThatServicesAreKeptIsToldOnce(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		var bindings []string
		for i := range 6 {
			w.service(fmt.Sprintf("shop/s%d", i), "http:8080")
			bindings = append(bindings, bindingOf(fmt.Sprintf("shop/s%d", i), "blue"))
		}
		w.documents(append(bindings, pools)...)
		var log bytes.Buffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		w.start()
		during(time.Minute)
		w.documents(append(bindings[4:], pools)...)
		during(10 * time.Second)
		w.service("shop/more", "http:8080")
		w.documents(append(bindings[4:], bindingOf("shop/more", "blue"), pools)...)
		during(10 * time.Second)
		w.stop()
		if told := strings.Count(log.String(), "many Services vanished at once"); told != 1 {
			t.Errorf("told %d times: %s", told, log.String())
		}
	})
}
