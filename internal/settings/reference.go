package settings

import _ "embed"

//go:embed configuration.txt
var reference string

//go:embed endpoint-views.txt
var viewsReference string

// Reference returns the documentation of all variables as Markdown. It is generated: a test
// makes it of the tags, and demands that the file is current.
func Reference() string { return reference }

// ViewsReference returns the documentation of the variables of endpoint-views.
func ViewsReference() string { return viewsReference }
