// Package apiserver reads the EndpointPools and EndpointBindings of an API server, and writes
// their status.
//
//	watches of both kinds ──> what the API server has ──> documents.Set, after each change
//	what becomes of documents ──> one update of the status of each object that differs
//
// In come the access and the bounds of the installation. A kind that is not installed, a
// right that is missing and a server that is away are findings, never absences: they take
// no document away. What only a new list leaves out is gone when a second list leaves it
// out too. The package decides nothing: package documents says which version of a document
// is in effect.
//
// Its rights are list and watch of endpointpools and endpointbindings, and update of
// their status. At rest it sends no request but the watches.
package apiserver
