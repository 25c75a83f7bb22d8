package page

import (
	"cmp"
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
	// maxText bounds a parameter, in bytes: the longest name of a node fits.
	maxText = 256
	// minRefresh and maxRefresh bound the pause between two loads of the page by
	// itself, in seconds.
	minRefresh, maxRefresh = 2, 3600
	// maxOffset is more Services than there are.
	maxOffset = 1_000_000
	// notReady is the state that stands for all but ready.
	notReady = "notready"
)

// query is what a URL asks for: which Services and, of one, which nodes.
type query struct {
	report.Query
	// Page is the path of the page, and JSONPath that of the same as JSON.
	Page, JSONPath string
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

// parseQuery reads the parameters of a URL. What it does not know it leaves alone; an
// empty one is not set, as a form sends it.
func parseQuery(values url.Values) (query, error) {
	q := query{Text: strings.TrimSpace(values.Get("q")), State: values.Get("state")}
	q.Namespace, q.Pool, q.Service, q.Condition = values.Get("namespace"), values.Get("pool"), values.Get("service"), report.Condition(values.Get("condition"))
	for _, name := range []string{"q", "state", "refresh", "namespace", "pool", "service", "condition", "limit", "offset", "subject"} {
		if len(values[name]) > 1 {
			return q, fmt.Errorf("%s is given %d times; give it once", name, len(values[name]))
		}
		if len(values.Get(name)) > maxText {
			return q, fmt.Errorf("%s is longer than %d bytes", name, maxText)
		}
	}
	var conditions []string
	for _, c := range report.ServiceConditions() {
		conditions = append(conditions, string(c))
	}
	switch {
	case !utf8.ValidString(q.Text):
		return q, fmt.Errorf("q=%q is not UTF-8; write it as such", q.Text)
	case q.State != "" && !slices.Contains(filterStates(), q.State):
		return q, fmt.Errorf("state=%q is not known; write one of %s", q.State, strings.Join(filterStates(), ", "))
	case q.Condition != "" && !slices.Contains(conditions, string(q.Condition)):
		return q, fmt.Errorf("condition=%q is not known; write one of %s", q.Condition, strings.Join(conditions, ", "))
	}
	var errs [3]error
	q.Refresh, errs[0] = number(values, "refresh", 0, minRefresh, maxRefresh)
	q.Limit, errs[1] = number(values, "limit", report.DefaultLimit, 1, report.MaxLimit)
	q.Offset, errs[2] = number(values, "offset", 0, 0, maxOffset)
	return q, cmp.Or(errs[:]...)
}

// number reads a number in a range; what is not given is as it is otherwise.
func number(values url.Values, name string, otherwise, least, most int) (int, error) {
	text := values.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s=%q is not a number from %d to %d", name, text, least, most)
	}
	return n, nil
}

// values is the reverse of parseQuery.
func (q query) values() url.Values {
	values := url.Values{}
	for name, text := range map[string]string{"q": q.Text, "state": q.State, "namespace": q.Namespace, "pool": q.Pool, "service": q.Service, "condition": string(q.Condition)} {
		if text != "" {
			values.Set(name, text)
		}
	}
	if q.Limit != report.DefaultLimit {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	for name, n := range map[string]int{"offset": q.Offset, "refresh": q.Refresh} {
		if n > 0 {
			values.Set(name, strconv.Itoa(n))
		}
	}
	return values
}

// link returns the URL of the page with this query.
func (q query) link() string { return q.at(q.Page) }

// JSON returns the URL of the same as JSON, which has all nodes.
func (q query) JSON() string { return query{Query: q.Query}.at(q.JSONPath) }

// at returns the URL of a path with this query.
func (q query) at(path string) string {
	if values := q.values(); len(values) > 0 {
		return path + "?" + values.Encode()
	}
	return path
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
