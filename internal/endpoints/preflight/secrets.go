package preflight

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"

// maxText bounds one message, in bytes: a server may answer with a page.
const maxText = 600

// hide removes secrets from a report: a server may send back a secret that it was
// sent. User names and passwords in URLs are secrets too.
func hide(checks []Check, secrets []string) []Check {
	var known transport.Secrets
	known.Add(secrets...)
	return edit(checks, func(text string) string { return transport.Cut(known.Hide(text), maxText) })
}
