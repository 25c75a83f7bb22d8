// Package idle keeps one idle TCP connection to each endpoint and says when one is
// lost.
//
// In come addresses; out go alarms. An alarm is no evidence: the peer may have
// closed an idle connection, restarted, or a firewall may have forgotten it. It
// says only that the address is worth a health check now. The package sends
// nothing but keep-alives, never decides about an endpoint, and connects to nothing
// but the addresses and the port it was given.
package idle
