// Package traffic asks a Service as its users do and writes down every answer: new
// TCP connections at a constant rate, each with one HTTP request, and no request
// waits for another. Input is an address and a rate, output is one [Result] for each
// request.
//
// A request is lost when it fails in any way within [Timeout], or is answered with
// another status than 200.
//
// Each connection has a source address and port that no other has in the same run. A
// port that is used again can meet what connection tracking remembers of an earlier
// attempt, and then fails although the Service is right.
//
// The folder load holds Generate as a program, which can run in a namespace of its
// own, and backend a server that misbehaves on request.
package traffic
