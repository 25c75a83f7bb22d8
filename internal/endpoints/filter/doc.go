// Package filter decides which addresses of which nodes may be published.
//
// In come the nodes of one inventory; out go the candidates, a decision for each node
// and address that names the rule and the value that decided, and the addresses
// of the nodes that are not eligible. It is pure, and its rules bind the probes
// too: what does not pass is never contacted.
package filter
