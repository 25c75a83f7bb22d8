package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// record is what the daemon logs as one line of JSON, as far as the demo
// understands it.
type record struct {
	Message string `json:"msg"`

	// "endpoint changed"
	Address string `json:"address"`
	Node    string `json:"node"`
	// "endpoint changed" and "mode changed"
	Reason string `json:"reason"`
	From   string `json:"from"`
	To     string `json:"to"`
	Detail string `json:"message"`
	// "source read failed, ..."
	Error string `json:"error"`
	// "slice written"
	Slice     string `json:"slice"`
	Operation string `json:"operation"`
	Endpoints int    `json:"endpoints"`
	Added     int    `json:"added"`
	Removed   int    `json:"removed"`
	Changed   int    `json:"changed"`
	// "listening"
	Admin string `json:"admin_address"`
}

// The log messages that the scenes wait for.
const (
	memberChanged   = "endpoint changed"
	modeChanged     = "mode changed"
	readFailed      = "source read failed; endpoints stay published, and health checks go on"
	sourceRecovered = "source recovered"
	sliceWritten    = "slice written"
	served          = "listening"
	stopped         = "stopped, the slices are left as they are"
)

// parse reads a log line. What is not JSON, such as the report of a mistake in
// the configuration, becomes the message.
func parse(text string) record {
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return record{Message: text}
	}
	return r
}

// tell puts the message of a log line into one sentence.
func tell(text string) string {
	r := parse(text)
	switch r.Message {
	case memberChanged:
		return withDetail(fmt.Sprintf("%s (%s): %s -> %s, %s", r.Node, r.Address, r.From, r.To, r.Reason), r.Detail)
	case modeChanged:
		return withDetail(fmt.Sprintf("mode: %s -> %s, %s", r.From, r.To, r.Reason), r.Detail)
	case readFailed:
		return withDetail(r.Message, r.Error)
	case sliceWritten:
		return fmt.Sprintf("%s: %s %s, %d endpoints: %s", r.Message, r.Operation, r.Slice, r.Endpoints, r.difference())
	case served:
		return fmt.Sprintf("status page: http://%s/ as long as this runs", r.Admin)
	}
	return r.Message + rest(text)
}

// difference spells the counts of a written slice that are not zero.
func (r record) difference() string {
	var counts []string
	for _, c := range []struct {
		count int
		what  string
	}{{r.Added, "added"}, {r.Removed, "removed"}, {r.Changed, "changed"}} {
		if c.count > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.count, c.what))
		}
	}
	return strings.Join(counts, ", ")
}

// withDetail joins a sentence and its detail, where there is one.
func withDetail(sentence, detail string) string {
	if detail == "" {
		return sentence
	}
	return sentence + ": " + detail
}

// rest spells the further keys of a line that the demo does not know.
func rest(text string) string {
	var keys map[string]any
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		return ""
	}
	var spelled strings.Builder
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch key {
		case "time", "level", "msg":
		default:
			fmt.Fprintf(&spelled, " %s=%v", key, keys[key])
		}
	}
	return spelled.String()
}
