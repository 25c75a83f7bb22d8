package admin

import (
	"bytes"
	_ "embed" // the template and the style sheet
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

//go:embed style.css
var styleSheet []byte

//go:embed page.html
var pageSource string

// pageTemplate escapes what it is filled with by where it stands.
var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// page is the status page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if q.Refresh > 0 {
		w.Header().Set("Refresh", strconv.Itoa(q.Refresh))
	}
	show(s, w, r, s.whole(htmlType, func(d *report.Document) ([]byte, error) { return rendered(pageTemplate, viewOf(d, q)) }))
}

const htmlType = "text/html; charset=utf-8"

// rendered fills a template.
func rendered(page *template.Template, view any) ([]byte, error) {
	var out bytes.Buffer
	if err := page.Execute(&out, view); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return out.Bytes(), nil
}
