package page

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// parseTargets reads which targets a URL asks for. What it does not know it leaves
// alone; an empty parameter is not set, as a form sends it.
func parseTargets(values url.Values) (report.Query, error) {
	q := report.Query{Namespace: values.Get("namespace"), Pool: values.Get("pool"), Service: values.Get("service"), Condition: report.Condition(values.Get("condition")), Limit: report.DefaultLimit}
	for _, name := range []string{"namespace", "pool", "service", "condition", "limit", "offset", "subject"} {
		if len(values[name]) > 1 {
			return q, fmt.Errorf("%s is given %d times; give it once", name, len(values[name]))
		}
		if text := values.Get(name); len(text) > maxText {
			return q, fmt.Errorf("%s is longer than %d bytes", name, maxText)
		}
	}
	if known := report.ServiceConditions(); q.Condition != "" && !slices.Contains(known, q.Condition) {
		names := make([]string, len(known))
		for i, c := range known {
			names[i] = string(c)
		}
		return q, fmt.Errorf("condition=%q is not known; write one of %s", q.Condition, strings.Join(names, ", "))
	}
	var err error
	if text := values.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > report.MaxLimit {
			return q, fmt.Errorf("limit=%q is not a number from 1 to %d", text, report.MaxLimit)
		}
	}
	if text := values.Get("offset"); text != "" {
		if q.Offset, err = strconv.Atoi(text); err != nil || q.Offset < 0 {
			return q, fmt.Errorf("offset=%q is not a number from 0 on", text)
		}
	}
	return q, nil
}

// valuesOf is the reverse of parseTargets.
func valuesOf(q report.Query) url.Values {
	values := url.Values{}
	for name, text := range map[string]string{"namespace": q.Namespace, "pool": q.Pool, "service": q.Service, "condition": string(q.Condition)} {
		if text != "" {
			values.Set(name, text)
		}
	}
	if q.Limit != report.DefaultLimit && q.Limit != 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Offset > 0 {
		values.Set("offset", strconv.Itoa(q.Offset))
	}
	return values
}
