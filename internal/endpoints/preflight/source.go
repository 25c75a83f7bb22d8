package preflight

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// CloudFacts is what a source in a cloud learned in addition to the nodes.
type CloudFacts struct {
	// Expires is when the token used last expires, zero if it does not say.
	Expires time.Time
	// Warnings are what seems wrong in the cloud although it can be read.
	Warnings []string
}

// expiring is how long before its end a token is a warning.
const expiring = 14 * 24 * time.Hour

// judgeRead says how the one read went.
func judgeRead(nodes int, took, bound time.Duration, err error) Check {
	const subject = "source"
	took = took.Round(10 * time.Microsecond)
	switch {
	case err != nil:
		return SourceRead.fail(subject, "%v (after %s)", err, took)
	case took > bound/2:
		return SourceRead.warn(subject, "%s read in %s, which is more than half of SOURCE_TIMEOUT=%s", plural(nodes, "node"), took, bound)
	}
	return SourceRead.ok(subject, "%s read in %s", plural(nodes, "node"), took)
}

// JudgeCloud judges the token and the warnings of the cloud.
func JudgeCloud(facts CloudFacts, now time.Time) []Check {
	checks := []Check{SourceToken.skip("token", "there is no token, or it does not say when it expires")}
	if at := facts.Expires; !at.IsZero() {
		checks[0] = judgeExpiry(SourceToken, "token", "it", at, now, at.Sub(now) < expiring)
	}
	for _, warning := range facts.Warnings {
		checks = append(checks, SourceWarning.warn("cloud", "%s", warning))
	}
	return checks
}

// JudgeCredential says how long the API server will accept a credential, as far as
// that can be known.
func JudgeCredential(id ID, expiry kube.Expiry, now time.Time) Check {
	const subject = "credential"
	switch {
	case expiry.Known():
		return judgeExpiry(id, subject, "the "+string(expiry.Credential), expiry.Ends, now, expiry.Soon(now))
	case expiry.Credential == kube.Plugin:
		return id.skip(subject, "an exec plugin provides it, and renews it when it expires")
	}
	return id.skip(subject, "it does not say when it expires")
}

// judgeExpiry says when it expires, and whether that is too soon.
func judgeExpiry(id ID, subject, it string, at, now time.Time, soon bool) Check {
	date, left := at.UTC().Format(time.RFC3339), at.Sub(now)
	switch {
	case left <= 0:
		return id.fail(subject, "%s expired at %s", it, date)
	case soon:
		return id.warn(subject, "%s expires at %s, in %s", it, date, days(left))
	}
	return id.ok(subject, "%s expires at %s, in %s", it, date, days(left))
}

// days spells a time to come in days, and in hours or minutes where there are few.
func days(left time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case left < time.Hour:
		return plural(int(left.Minutes()), "minute")
	case left < 2*day:
		return plural(int(left.Hours()), "hour")
	}
	return plural(int(left/day), "day")
}
