package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// mostPages bounds the pages of targets that are asked for.
const mostPages = 100

// askJSON asks the running daemon for one path. The answer has to have the form of this
// version; a 404 is the error *report.NoService, with the words of the daemon.
func askJSON(ctx context.Context, c settings.Config, path string, into any) (json.RawMessage, error) {
	if c.Listen.Admin.Port() == 0 {
		return nil, errNoPort
	}
	at := adminURL(c.Listen.Admin) + path
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	text, err := get(ctx, at, "")
	var none *report.NoService
	switch {
	case errors.As(err, &none):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", at, brief(err, askTimeout))
	}
	if err := ofThisVersion(text); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return text, nil
}

// askTarget asks the daemon for the document of one Service.
func askTarget(ctx context.Context, c settings.Config, s scope) (shown, error) {
	var d report.Document
	raw, err := askJSON(ctx, c, "/api/v1/services/"+url.PathEscape(s.namespace)+"/"+url.PathEscape(s.service), &d)
	return shown{document: &d, raw: raw}, err
}

// askTargets asks the daemon for the pools and all Services of the scope. Its own words are
// kept where one answer has all.
func askTargets(ctx context.Context, c settings.Config, s scope) (shown, error) {
	var all *report.Services
	raw, err := pages(func(offset int) (json.RawMessage, int, int, error) {
		var t report.Services
		raw, err := askJSON(ctx, c, "/api/v1/services?"+s.query(offset).Encode(), &t)
		if all == nil {
			all = &t
		} else {
			all.Services = append(all.Services, t.Services...)
		}
		return raw, len(t.Services), t.Total, err
	})
	return shown{targets: all, raw: raw}, err
}

// askExplanation asks the daemon what the Services of the scope know of a subject.
func askExplanation(ctx context.Context, c settings.Config, s scope, subject string) (*report.Explanation, json.RawMessage, error) {
	var all *report.Explanation
	raw, err := pages(func(offset int) (json.RawMessage, int, int, error) {
		var e report.Explanation
		query := s.query(offset)
		query.Set("subject", subject)
		raw, err := askJSON(ctx, c, "/api/v1/explain?"+query.Encode(), &e)
		if all == nil {
			all = &e
		} else {
			all.Services = append(all.Services, e.Services...)
		}
		return raw, len(e.Services), e.Total, err
	})
	return all, raw, err
}

// query asks for the Services of the scope, after that many.
func (s scope) query(offset int) url.Values {
	q := url.Values{"limit": {strconv.Itoa(report.MaxLimit)}, "offset": {strconv.Itoa(offset)}}
	if s.namespace != "" {
		q.Set("namespace", s.namespace)
	}
	return q
}

// pages asks for page after page until it has all. It returns the daemon's own words, nil
// where there was more than one page.
func pages(ask func(offset int) (raw json.RawMessage, got, total int, err error)) (json.RawMessage, error) {
	have := 0
	for page := range mostPages {
		raw, got, total, err := ask(have)
		if have += got; err != nil {
			return nil, err
		}
		if have >= total || got == 0 {
			if page > 0 {
				raw = nil
			}
			return raw, nil
		}
	}
	return nil, fmt.Errorf("the daemon has more than %d Services", mostPages*report.MaxLimit)
}
