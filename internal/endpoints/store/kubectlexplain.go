package store

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// What kubectl says of a request that the server answered, and of one that it did
// not: kubectl spells the second in three ways.
var (
	answered   = regexp.MustCompile(`(?m)^Error from server \((\w+)\): (?:error when \w+ "STDIN": )?(.*)$`)
	unanswered = regexp.MustCompile(`(?m)^(?:Unable to connect to the server|error: .*(?:Get|Post|Put) "https?://[^"]*"): (.*)$`)
	refused    = regexp.MustCompile(`(?m)^The connection to the server .* was refused`)
)

// unreachable are the causes that concern the connection to the server, not one
// request. A request that was sent and not answered in time is not among them, nor a
// stream that the server ended within a connection.
var unreachable = regexp.MustCompile(`^dial |connection (?:refused|reset by peer)|broken pipe|no route to host|` +
	`network is unreachable|no such host|^(?:unexpected )?EOF$|^tls: |^x509: |^remote error: tls: |TLS handshake timeout|` +
	`server gave HTTP response to HTTPS client|while waiting for connection|http2: client connection lost|http2: server sent GOAWAY`)

// judge marks a report that the server is unavailable to other requests too; see
// publish.ErrUnavailable. An unknown one counts as about this request. kubectl does not
// report the pause that a server asks for.
func judge(err error) error {
	exit := new(system.ExitError)
	if !errors.As(err, &exit) {
		return err
	}
	if reason, message := answer(exit); reason != "" {
		if busy := reason == "TooManyRequests" || reason == "ServiceUnavailable"; busy && !denied(message) {
			return publish.Unavailable(err, 0)
		}
		return err
	}
	cause := unanswered.FindStringSubmatch(exit.Stderr)
	if refused.MatchString(exit.Stderr) || cause != nil && unreachable.MatchString(cause[1]) {
		return publish.Unavailable(err, 0)
	}
	return err
}

// explain makes a conflict of a report that the slice has changed, exists already or
// is gone.
func explain(operation publish.Operation, err error) error {
	exit := new(system.ExitError)
	if !errors.As(err, &exit) {
		return err
	}
	reason, message := answer(exit)
	if denied(message) {
		return err
	}
	if reason == "AlreadyExists" || reason == "Conflict" || reason == "NotFound" && operation == publish.Update {
		return fmt.Errorf("%w: %w", publish.ErrConflict, err)
	}
	return err
}

// answer returns the reason and the message of the server's answer, empty where
// there was none.
func answer(exit *system.ExitError) (reason, message string) {
	found := answered.FindStringSubmatch(exit.Stderr)
	if found == nil {
		return "", ""
	}
	return found[1], found[2]
}

// denied reports whether an admission webhook refused the request. It may do so
// with any status, and what it says is about this object and not about the server.
func denied(message string) bool { return strings.HasPrefix(message, `admission webhook "`) }
