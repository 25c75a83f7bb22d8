package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"
)

// The states of an endpoint, by the conditions in the slice.
const (
	ready    = "ready"
	draining = "draining"
	down     = "down"
	absent   = "absent"
)

// world is what the daemon has said so far.
type world struct {
	// endpoints is what the newest slices publish: the state of each address.
	endpoints map[string]string
	// changes is the last "endpoint changed" of each address.
	changes map[string]change
	mode    string
	// These count since the last act.
	failures, recoveries, writes int
	// wrote is when a slice was written last.
	wrote   time.Time
	stopped bool
}

// change is what the daemon said of an address, and when.
type change struct {
	to, reason string
	at         time.Time
}

func newWorld() *world {
	return &world{endpoints: map[string]string{}, changes: map[string]change{}, mode: "Publish"}
}

// forget resets the counts.
func (w *world) forget() { w.failures, w.recoveries, w.writes = 0, 0, 0 }

// learn takes a log line in. After a line about a written slice, output holds the
// slices as they are now.
func (w *world) learn(l line, output string) error {
	r := parse(l.text)
	switch r.Message {
	case memberChanged:
		w.changes[r.Address] = change{to: r.To, reason: r.Reason, at: l.at}
	case modeChanged:
		w.mode = r.To
	case readFailed:
		w.failures++
	case sourceRecovered:
		w.recoveries++
	case stopped:
		w.stopped = true
	case sliceWritten:
		w.writes++
		w.wrote = l.at
		printed, err := os.ReadFile(output)
		if err != nil {
			return err
		}
		w.endpoints, err = newestEndpoints(printed)
		return err
	}
	return nil
}

// header begins what the daemon prints at each change of its slices.
const header = "---\n# slice "

// newestEndpoints returns the state of each address in the slices as each of them
// was printed last.
func newestEndpoints(printed []byte) (map[string]string, error) {
	newest := map[string]discoveryv1.EndpointSlice{}
	for _, document := range bytes.Split(printed, []byte(header))[1:] {
		var slice discoveryv1.EndpointSlice
		if err := yaml.UnmarshalStrict(append([]byte("# "), document...), &slice); err != nil {
			return nil, fmt.Errorf("read the slice that the daemon printed: %w", err)
		}
		newest[slice.Name] = slice
	}
	if len(newest) == 0 {
		return nil, errors.New("the daemon says that it wrote a slice, and printed none")
	}
	endpoints := map[string]string{}
	for _, slice := range newest {
		for _, e := range slice.Endpoints {
			for _, address := range e.Addresses {
				endpoints[address] = stateOf(e.Conditions)
			}
		}
	}
	return endpoints, nil
}

// stateOf names the conditions; the daemon always writes all three.
func stateOf(c discoveryv1.EndpointConditions) string {
	is := func(condition *bool) bool { return condition != nil && *condition }
	switch {
	case is(c.Ready):
		return ready
	case is(c.Serving) && is(c.Terminating):
		return draining
	}
	return down
}

// state returns what the slices say of an address.
func (w *world) state(address string) string {
	if state, ok := w.endpoints[address]; ok {
		return state
	}
	return absent
}

// is reports whether both the slices and the log say that an address is in a state.
// The daemon writes first and logs afterwards.
func (w *world) is(address, state string) bool {
	return w.state(address) == state && w.changes[address].to == state
}

// allReady reports whether the slices publish exactly these addresses, all of them
// ready, and the log has reported every change up to there.
func (w *world) allReady(addresses []string) bool {
	if len(w.endpoints) != len(addresses) {
		return false
	}
	for address, c := range w.changes {
		if w.state(address) != c.to {
			return false
		}
	}
	return !slices.ContainsFunc(addresses, func(address string) bool { return !w.is(address, ready) })
}

// count returns how many endpoints are in a state.
func (w *world) count(state string) int {
	count := 0
	for _, s := range w.endpoints {
		if s == state {
			count++
		}
	}
	return count
}
