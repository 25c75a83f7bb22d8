package controllertest_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract06WhatTheSubnetsDoNotAllowAnyMoreGoesAfterTheThreshold: these endpoints
// may not be checked, so no failure would ever remove them.
func TestContract06WhatTheSubnetsDoNotAllowAnyMoreGoesAfterTheThreshold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13, 14)
		w.start()
		during(10 * time.Second)
		w.stop()
		w.opts.Rules.Subnets = []netip.Prefix{netip.MustParsePrefix("10.0.0.11/32")}
		w.start()
		during(2 * time.Minute)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready", ip(14)+" ready")
		during(5 * time.Minute)
		wantMembers(t, w, ip(11)+" ready")
		w.stop()
	})
}

// TestASubnetThatAllowsNothingTakesNothingAway: that is a mistake more likely than
// not.
func TestASubnetThatAllowsNothingTakesNothingAway(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12)
		w.start()
		during(10 * time.Second)
		w.stop()
		w.opts.Rules.Subnets = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
		w.start()
		during(time.Hour)
		if got := w.members(); len(got) != 2 {
			t.Errorf("members: got %v, want both still there", got)
		}
		w.stop()
	})
}
