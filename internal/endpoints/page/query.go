package page

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

const (
	// maxText bounds the text that nodes are searched for, in bytes: the longest
	// name of a node fits.
	maxText = 256
	// minRefresh and maxRefresh bound the pause between two loads of the page by
	// itself, in seconds.
	minRefresh, maxRefresh = 2, 3600
	// notReady is the state that stands for all but ready.
	notReady = "notready"
)

// query is what the URL of the page asks for.
type query struct {
	// Page is the path of the page, and JSON that of the same document.
	Page, JSON string
	// Text is what a node has to contain: each word of it, anywhere.
	Text string
	// State is one of filterStates, empty for all.
	State string
	// Refresh is after how many seconds the page loads itself anew, 0 for never.
	Refresh int
}

// filterStates are the states that can be asked for.
func filterStates() []string {
	return []string{
		notReady, inventory.StateDown.String(), inventory.Absent.String(), inventory.StateDraining.String(), inventory.StateReady.String(),
	}
}

// parseQuery reads the parameters of the page. What it does not know it leaves
// alone; an empty one is not set, as a form sends it.
func parseQuery(values url.Values) (query, error) {
	q := query{Text: strings.TrimSpace(values.Get("q")), State: values.Get("state")}
	for _, name := range []string{"q", "state", "refresh"} {
		if len(values[name]) > 1 {
			return q, fmt.Errorf("%s is given %d times; give it once", name, len(values[name]))
		}
	}
	switch {
	case len(q.Text) > maxText:
		return q, fmt.Errorf("q is longer than %d bytes; search for less", maxText)
	case !utf8.ValidString(q.Text):
		return q, fmt.Errorf("q=%q is not UTF-8; write it as such", q.Text)
	case q.State != "" && !slices.Contains(filterStates(), q.State):
		return q, fmt.Errorf("state=%q is not known; write one of %s", q.State, strings.Join(filterStates(), ", "))
	}
	var err error
	q.Refresh, err = parseRefresh(values)
	return q, err
}

// parseRefresh reads after how many seconds a page loads itself anew, 0 for never.
func parseRefresh(values url.Values) (int, error) {
	wanted := values.Get("refresh")
	if wanted == "" {
		return 0, nil
	}
	seconds, err := strconv.Atoi(wanted)
	if err != nil || seconds < minRefresh || seconds > maxRefresh {
		return 0, fmt.Errorf("refresh=%q is not a number of seconds from %d to %d", wanted, minRefresh, maxRefresh)
	}
	return seconds, nil
}

// link returns the URL of the page with this query.
func (q query) link() string {
	values := url.Values{}
	if q.Text != "" {
		values.Set("q", q.Text)
	}
	if q.State != "" {
		values.Set("state", q.State)
	}
	if q.Refresh > 0 {
		values.Set("refresh", strconv.Itoa(q.Refresh))
	}
	if len(values) == 0 {
		return q.Page
	}
	return q.Page + "?" + values.Encode()
}

// inState returns the query with another state.
func (q query) inState(state string) query {
	q.State = state
	return q
}

// terms are the words of the text, in lower case.
func (q query) terms() []string { return strings.Fields(strings.ToLower(q.Text)) }

// hasState reports whether a node's state is one that was asked for.
func (q query) hasState(n report.Node) bool {
	switch q.State {
	case "", n.State:
		return true
	case notReady:
		return n.State != inventory.StateReady.String()
	}
	return false
}

// contains reports whether a node contains all of the words.
func contains(n report.Node, terms []string) bool {
	if len(terms) == 0 {
		return true
	}
	parts := []string{n.Name, n.ID, n.Address, n.Zone, n.State, n.Reason, n.Message}
	for _, d := range n.Decisions {
		parts = append(parts, d.Address)
	}
	if n.HealthCheck != nil {
		parts = append(parts, n.HealthCheck.Outcome)
	}
	text := strings.ToLower(strings.Join(parts, "\n"))
	return !slices.ContainsFunc(terms, func(term string) bool { return !strings.Contains(text, term) })
}
