package page

import (
	"bytes"
	_ "embed" // the template and the style sheet
	"fmt"
	"html/template"
)

//go:embed style.css
var styleSheet []byte

//go:embed page.html
var pageSource string

// pageTemplate escapes what it is filled with by where it stands.
var pageTemplate = template.Must(template.New("page").Parse(pageSource))

const htmlType = "text/html; charset=utf-8"

// rendered fills a template.
func rendered(page *template.Template, view any) ([]byte, error) {
	var out bytes.Buffer
	if err := page.Execute(&out, view); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return out.Bytes(), nil
}
