package settings_test

import (
	"strings"
	"testing"
	"time"
)

// TestContract160NoDefaultContradictsWhatIsSet: the settings that the original recommends
// start, and so does each of a pair alone.
func TestContract160NoDefaultContradictsWhatIsSet(t *testing.T) {
	original := load(t, with(env{
		"SOURCE_POLL_INTERVAL": "5s", "HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_PATH": "/", "HEALTH_CHECK_TIMEOUT": "3s",
	})).Health
	if original.Timeout != 3*time.Second || original.Interval != 3*time.Second {
		t.Errorf("got a time-out of %v and an interval of %v, want 3s and 3s", original.Timeout, original.Interval)
	}
	for _, value := range []string{"100ms", "1s", "2s", "3s", "1h"} {
		want, err := time.ParseDuration(value)
		if err != nil {
			t.Fatal(err)
		}
		if got := load(t, with(env{"HEALTH_CHECK_TIMEOUT": value})).Health; got.Timeout != want || got.Interval < want {
			t.Errorf("HEALTH_CHECK_TIMEOUT=%s: got %v and an interval of %v", value, got.Timeout, got.Interval)
		}
		if got := load(t, with(env{"HEALTH_CHECK_INTERVAL": value})).Health; got.Interval != want || got.Timeout > want {
			t.Errorf("HEALTH_CHECK_INTERVAL=%s: got %v and a time-out of %v", value, got.Interval, got.Timeout)
		}
	}
}

// TestContract160TwoListenersOnOnePortAreAMistake: also where one of them takes the port
// on every address.
func TestContract160TwoListenersOnOnePortAreAMistake(t *testing.T) {
	for _, e := range []env{
		{"METRICS_ADDRESS": "127.0.0.1:8080"}, {"METRICS_ADDRESS": "0.0.0.0:8080"}, {"METRICS_ADDRESS": "[::]:8080"},
		{"ADMIN_ADDRESS": "0.0.0.0:8081", "METRICS_ADDRESS": "10.0.0.1:8081"},
	} {
		if err := loadError(t, with(e)); !strings.Contains(err.Error(), "choose another port for one of them") {
			t.Errorf("%v: got %v", e, err)
		}
	}
	load(t, with(env{"METRICS_ADDRESS": "127.0.0.2:8080"}))
	load(t, with(env{"METRICS_ADDRESS": "0.0.0.0:0", "ADMIN_ADDRESS": "127.0.0.1:0"}))
}
