package stream

import (
	"bytes"
	"cmp"
	_ "embed" // the template and the style sheet
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

const (
	// portsOnPage and endpointsOfPort bound the page.
	portsOnPage     = 100
	endpointsOfPort = 200
)

//go:embed style.css
var styleSheet []byte

//go:embed page.html
var pageSource string

// pageTemplate escapes what it is filled with by where it stands.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"hostPort": net.JoinHostPort}).Parse(pageSource))

// style answers with the style sheet of the page.
func style(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(styleSheet)
}

// page shows people what a list of gathered ports says: what the client may see.
func (s *Server) page(w http.ResponseWriter, r *http.Request) *refusal {
	asked, number, err := parsePage(r.URL.Query())
	if err != nil {
		return refuse(http.StatusBadRequest, "BadRequest", "%v", err)
	}
	identity, no := s.identify(r, asked)
	if no != nil {
		return no
	}
	if no := s.lists.enter(identity.name()); no != nil {
		return no
	}
	defer s.lists.leave(identity.name())
	objects, _, err := s.opts.Cache.List(asked.selection(identity))
	if err != nil {
		return refused(err)
	}
	shown := overview(objects, asked, number)
	now := time.Now()
	shown.At = now.UTC().Format(moment)
	s.describe(shown, identity, now)
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, shown); err != nil {
		return refuse(http.StatusInternalServerError, "InternalError", "render the page: %v", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	_, _ = w.Write(out.Bytes()) // a client that went away misses nothing
	return nil
}

// moment is how the page writes times.
const moment = time.DateTime + " UTC"

// parsePage reads the query of the page.
func parsePage(query url.Values) (asked request, number int, err error) {
	list := url.Values{"gather": {"true"}}
	for name, values := range query {
		switch {
		case name == "page":
			if number, err = strconv.Atoi(values[0]); err != nil || number < 1 {
				return asked, 0, fmt.Errorf("page=%s: write a number from 1 on", strconv.Quote(values[0]))
			}
		case name != "namespace" && name != "service":
			return asked, 0, fmt.Errorf("%s is no parameter; there are namespace, service, page", strconv.Quote(name))
		case values[0] != "":
			list[name] = values
		}
	}
	asked, err = parse(list)
	return asked, max(number, 1), err
}

// describe says whom the page is for, and since when it is not current. What an API
// server's error says is not for clients.
func (s *Server) describe(shown *pageData, identity *Identity, now time.Time) {
	cause := ""
	since, err := s.opts.Stale(now)
	if identity != nil {
		shown.Client = identity.Name
	} else if err != nil {
		cause = ": " + err.Error()
	}
	if err != nil {
		shown.Stale = "The API server has sent no event since " + since.UTC().Format(moment) + cause + "."
	}
}

// pageData is what the template is filled with.
type pageData struct {
	Headline, At, Client, Stale string
	Namespace, Service          string
	// Empty says that a port has no ready endpoint.
	Empty         bool
	Rows          []row
	From, To, All int
	Before, After string
}

// row is one port of one Service.
type row struct {
	views.ServicePortView

	Ready, Draining, Down int
	// Endpoints are those that are shown, Left is how many are not.
	Endpoints []views.Endpoint
	Left      int
}

// overview is a page of the ports, those without a ready endpoint first.
func overview(objects []cache.Event, asked request, number int) *pageData {
	rows := make([]row, 0, len(objects))
	empty := 0
	for _, object := range objects {
		var port views.ServicePortView
		if json.Unmarshal(object.Object(), &port) == nil { // it is ours
			rows = append(rows, rowOf(port))
			if rows[len(rows)-1].Ready == 0 {
				empty++
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(min(a.Ready, 1), min(b.Ready, 1)) })
	v := &pageData{
		Headline: fmt.Sprintf("%d of %d ports have ready endpoints", len(rows)-empty, len(rows)),
		Empty:    empty > 0, All: len(rows), Service: asked.service, Namespace: strings.Join(asked.namespaces, ","),
	}
	from := min(min(number-1, len(rows))*portsOnPage, len(rows)) // the number is any
	to := min(from+portsOnPage, len(rows))
	v.Rows, v.From, v.To = rows[from:to], from+1, to
	if number > 1 {
		v.Before = v.link(number - 1)
	}
	if to < len(rows) {
		v.After = v.link(number + 1)
	}
	return v
}

// link leads to another page of the same ports.
func (v *pageData) link(number int) string {
	query := url.Values{"page": {strconv.Itoa(number)}}
	if v.Namespace != "" {
		query.Set("namespace", v.Namespace)
	}
	if v.Service != "" {
		query.Set("service", v.Service)
	}
	return "?" + query.Encode()
}

func rowOf(port views.ServicePortView) row {
	all := port.Spec.Endpoints
	shown := min(len(all), endpointsOfPort)
	r := row{ServicePortView: port, Endpoints: all[:shown], Left: len(all) - shown}
	for _, e := range all {
		switch e.State {
		case views.Ready:
			r.Ready++
		case views.Draining:
			r.Draining++
		case views.Down:
			r.Down++
		}
	}
	return r
}
