package writer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// A server that asks for a pause still answers what was on its way; that does not
// end the pause.
func TestContract26WhatWasOnItsWayEndsNoPauseThatTheServerAskedFor(t *testing.T) {
	s := newScene(t, 3, "s1: a=ready", "s2: b=ready", "s3: c=ready", "s4: d=ready")
	s.want("s1: a=down", "s2: b=down", "s3: c=down", "s4: d=down")
	s.wantTaken("s1", "s2", "s3")
	s.fail(publish.Unavailable(errors.New("429"), 10*time.Second), "s1")
	s.land("s2")
	s.fail(errDenied, "s3")
	s.pass(9 * time.Second)
	s.wantTaken()
	s.pass(2 * time.Second)
	s.wantTaken("s4")
}
