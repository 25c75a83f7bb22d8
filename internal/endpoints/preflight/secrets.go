package preflight

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"

// maxText bounds one message, in bytes: a server may answer with a page.
const maxText = 600

// hide removes secrets from a report: a server may send back a secret that it was
// sent. User names and passwords in URLs are secrets too.
func hide(checks []Check, secrets []string) []Check {
	var known transport.Secrets
	known.Add(secrets...)
	clean := func(text string) string { return transport.Cut(known.Hide(text), maxText) }
	hidden := make([]Check, len(checks))
	for i, c := range checks {
		c.Subject, c.Message, c.Remedy = clean(c.Subject), clean(c.Message), clean(c.Remedy)
		hidden[i] = c
	}
	return hidden
}
