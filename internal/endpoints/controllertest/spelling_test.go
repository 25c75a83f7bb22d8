package controllertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestLogAndEventsSpellSettingsAsTheTargetsReadersDo: an operator who configures a
// target by a document knows no variable.
func TestLogAndEventsSpellSettingsAsTheTargetsReadersDo(t *testing.T) {
	for spelled, want := range map[naming.Spelling]string{
		naming.Variables: "HEALTH_CHECK_FAIL_OPEN=true",
	} {
		t.Run(string(spelled), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w, e := newWorld(t, 11, 12), &ear{}
				w.opts.Announcer, w.opts.Target.Names.Spelling = e, spelled
				w.start()
				during(10 * time.Second)
				w.set(func() { w.dead[ip(11)], w.dead[ip(12)] = true, true })
				during(time.Minute)
				notices := strings.Join(said(e.taken()), "\n")
				if !strings.Contains(notices, want) {
					t.Errorf("notices: got no %q in\n%s", want, notices)
				}
				lines := w.logs.with("mode changed")
				if len(lines) == 0 || !strings.Contains(lines[0]["message"].(string), want) {
					t.Errorf("log: got no %q in %v", want, lines)
				}
				w.stop()
			})
		})
	}
}
