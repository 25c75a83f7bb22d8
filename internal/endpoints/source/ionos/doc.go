// Package ionos is the source that finds the private address of each node in the
// IONOS Cloud API. In come nodes, from a NodeReader or else from the API of
// managed Kubernetes clusters; out go the same nodes, each with the addresses
// that the network card of its server has on one LAN.
//
//	nodes ──id, name──> server ──network card on the LAN──> addresses
//
// It asks the cheapest question that has an answer: the network cards of the
// LAN, whose links name their servers. Only when a link names no server, or a
// node has no id and must be found by its name, it asks for all servers with
// their network cards.
//
// A read is complete or an error. What answers with less than a whole list, the
// SDK's silence about a missing one included, is an error, and so is a document
// inside it that lacks what is needed; what the API says of one node is never
// one: a node whose server is gone, or has no address yet, is reported without
// address and with a Detail that says so.
//
//	pace.go       the source: when the API is asked, and what
//	http.go       requests and pages, connections, credentials and refusals
//	resolve.go    pure: documents in, nodes out
//
// The SDK's types go no further than http.go. The package never writes and never
// logs, and no error of it holds a secret.
package ionos
