package peers

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// protocol is the version of question and line. What says another one is no opinion.
const protocol = "1"

const (
	// MaxTargets is how many endpoints are asked about at most at a time, of all pools.
	MaxTargets = 256
	// longestText bounds a question and a line, in bytes; those of MaxTargets have some 20 KiB.
	longestText = 64 << 10
	// AnswerWait is how long a failure waits for an answer that alone would take an endpoint
	// down (HEALTH_CHECK_FALL=1).
	AnswerWait = 100 * time.Millisecond
	// longestName is how long the name of a Pod may be.
	longestName = 253
	// longestTimeout is how long a standby tries to connect at most, whatever a question says.
	longestTimeout = 30 * time.Second
)

// question is what a leader asks.
type question struct {
	Version string   `json:"version"`
	Targets []target `json:"targets"`
}

// target is an endpoint that is asked about.
type target struct {
	Endpoint netip.AddrPort `json:"endpoint"`
	// Number grows with each question about the endpoint: a larger one asks for another try.
	Number int64 `json:"number"`
	// Timeout is that of the check, in milliseconds.
	Timeout int64 `json:"timeoutMilliseconds"`
}

// Line is what one replica answers.
type Line struct {
	Version string `json:"version"`
	// Leader is the identity of the process whose question it answers.
	Leader string `json:"leader"`
	// Replica is the name of the one that answers, Identity what the Lease calls it, and Node
	// the machine that it runs on; empty where that is not known.
	Replica  string `json:"replica"`
	Identity string `json:"identity"`
	Node     string `json:"node,omitempty"`
	// Reached accepted a connection, Missed did not in time.
	Reached []answer `json:"reached,omitempty"`
	Missed  []answer `json:"missed,omitempty"`
}

// answer is an endpoint that was tried, and the number of the question.
type answer struct {
	Endpoint netip.AddrPort `json:"endpoint"`
	Number   int64          `json:"number"`
}

// encode returns the text of a question or a line.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // neither has what cannot be encoded
	}
	return string(text)
}

// parseQuestion returns the targets of a question, none where it is of another version, too
// long, or none at all.
func parseQuestion(text string) []target {
	var q question
	if len(text) > longestText || json.Unmarshal([]byte(text), &q) != nil || q.Version != protocol || len(q.Targets) > MaxTargets {
		return nil
	}
	return slices.DeleteFunc(q.Targets, func(t target) bool { return !t.Endpoint.IsValid() || t.Endpoint.Port() == 0 })
}

// ParseLine returns what a replica answers, and false where it is of another version or none.
// The name of the replica is fit to be told.
func ParseLine(text string) (Line, bool) {
	var l Line
	ok := len(text) <= longestText && json.Unmarshal([]byte(text), &l) == nil && l.Version == protocol && len(l.Reached)+len(l.Missed) <= MaxTargets
	l.Replica = transport.Cut(transport.Printable(l.Replica), longestName)
	return l, ok && l.Replica != ""
}
