package preflight

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Result is what a check came to.
type Result string

// The results. Only Fail means that the daemon would not work.
const (
	OK Result = "ok"
	// Warn is allowed, and seldom intended.
	Warn Result = "warn"
	Fail Result = "fail"
	// Skip was not checked, or is not meant to be published; the message says why.
	Skip Result = "skip"
)

// Check is one thing that was looked at.
type Check struct {
	ID     ID     `json:"id"`
	Area   string `json:"area"`
	Result Result `json:"result"`
	// Subject is what was looked at: a variable, a node, a right, an object.
	Subject string `json:"subject"`
	// Message says what was found, with the actual values.
	Message string `json:"message"`
	// Reason is the reason of the node, the address or the Service, where there is one.
	Reason string `json:"reason,omitempty"`
	// Remedy and Link are there for warn and fail.
	Remedy string `json:"remedy,omitempty"`
	Link   string `json:"link,omitempty"`
}

// page is where every check is explained.
const page = "https://github.com/ablmnzde/ionoscloud-endpointslice-controller/blob/main/docs/reference/check.md"

func (id ID) check(result Result, subject, message string) Check {
	return Check{ID: id, Area: id.area(), Result: result, Subject: subject, Message: message}
}

func (id ID) ok(subject, format string, args ...any) Check {
	return id.check(OK, subject, fmt.Sprintf(format, args...))
}

func (id ID) skip(subject, format string, args ...any) Check {
	return id.check(Skip, subject, fmt.Sprintf(format, args...))
}

func (id ID) warn(subject, format string, args ...any) Check {
	return id.check(Warn, subject, fmt.Sprintf(format, args...)).remedied("")
}

func (id ID) fail(subject, format string, args ...any) Check {
	return id.check(Fail, subject, fmt.Sprintf(format, args...)).remedied("")
}

// remedied adds the link, and the remedy: the one given, else the one that the
// reference has for the check.
func (c Check) remedied(remedy string) Check {
	if remedy == "" {
		for _, doc := range Docs() {
			if doc.ID == c.ID {
				remedy = doc.Remedy
			}
		}
	}
	c.Remedy, c.Link = remedy, page+"#"+string(c.ID)
	return c
}

// plural counts things: "1 node", "2 nodes".
func plural(n int, thing string) string { return inventory.Counted(n, thing, thing+"s") }

// edit changes every text of the checks.
func edit(checks []Check, change func(string) string) []Check {
	for i := range checks {
		c := &checks[i]
		c.Subject, c.Message, c.Remedy = change(c.Subject), change(c.Message), change(c.Remedy)
	}
	return checks
}
