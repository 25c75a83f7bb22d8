package preflight

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// judgeRead says how the one read of a source went, and what is odd about a cloud.
func judgeRead(nodes int, took time.Duration, err error, warnings []string) []Check {
	took = took.Round(10 * time.Microsecond)
	checks := []Check{SourceRead.ok("source", "%s read in %s", plural(nodes, "node"), took)}
	if err != nil {
		checks[0] = SourceRead.fail("source", "%v (after %s)", err, took)
	}
	for _, warning := range warnings {
		checks = append(checks, SourceRead.warn("cloud", "%s", warning).remedied("look at the object of the data centre that the message names"))
	}
	return checks
}

// judgeToken says how long the token among the secrets of a cloud is accepted.
func judgeToken(secrets []string, now time.Time) Check {
	var expiry kube.Expiry
	for _, secret := range secrets {
		if begins, ends := transport.TokenValidity(secret); !ends.IsZero() {
			expiry = kube.Expiry{Credential: kube.Token, Begins: begins, Ends: ends}
		}
	}
	return judgeCredential(SourceExpiry, expiry, now)
}

// judgeCredential says how long a server will accept a credential, as far as that can be
// known.
func judgeCredential(id ID, expiry kube.Expiry, now time.Time) Check {
	const subject = "credential"
	date := expiry.Ends.UTC().Format(time.RFC3339)
	switch {
	case expiry.Credential == kube.Plugin:
		return id.skip(subject, "an exec plugin provides it, and renews it when it expires")
	case !expiry.Known():
		return id.skip(subject, "there is no credential, or it does not say when it expires")
	case !now.Before(expiry.Ends):
		return id.fail(subject, "the %s expired at %s", expiry.Credential, date)
	case expiry.Soon(now):
		return id.warn(subject, "the %s expires soon, at %s", expiry.Credential, date)
	}
	return id.ok(subject, "the %s expires at %s", expiry.Credential, date)
}
