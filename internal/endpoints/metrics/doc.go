// Package metrics counts what the daemon does and shows what it knows in the
// form that Prometheus reads.
//
// In come sources, probers and stores, which it wraps to count what they are asked and
// how they answer, the transports of HTTP clients, what pools and targets come to, and
// functions that tell the state of the daemon at the moment of a scrape. Out go
// the wrapped ones, which behave as those within, and an http.Handler.
//
// Every metric stands in one table (Families), of which the metrics themselves
// and their reference are made. A label has values of a closed list only, or is the
// name of a pool or of a Service that documents name: never an address, a name of a
// node or the text of an error. Services have series of their own up to a bound. The package keeps no
// variable of its own and uses no registry but the one it is given; it never
// decides, and a scrape never waits for the loop.
package metrics
