// Package stream serves the endpoint views over HTTP: lists, and streams in the
// form of a Kubernetes watch, to clients that identify themselves by a certificate or a
// token. In: a cache, the identities and what each may see. Out: JSON.
//
// Everything is bounded: clients, those of one identity, connections, lists at a
// time, and how long a client may take nothing. A client that is slow gets the newest
// state of each object, and is told 410 when that is not known any more. It delays
// no other client. Certificates, tokens and the list of identities are read again when they
// change, also for streams that are open.
package stream
