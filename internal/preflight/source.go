package preflight

import (
	"fmt"
	"time"
)

// CloudFacts is what a source in a cloud learned besides the nodes.
type CloudFacts struct {
	// Expires is when the token used last expires, zero if it does not say.
	Expires time.Time
	// Limit and Remaining are requests in a minute; Limit is 0 if the service
	// has not said.
	Limit, Remaining int
	// Warnings are what is odd about the cloud although it can be read.
	Warnings []string
}

// expiring is how long before its end a token is a warning.
const expiring = 14 * 24 * time.Hour

// judgeRead says how the one read went.
func judgeRead(kind string, nodes int, took, bound time.Duration, err error) Check {
	subject := "SOURCE_KIND=" + kind
	took = took.Round(10 * time.Microsecond)
	switch {
	case err != nil:
		return SourceRead.fail(subject, "%v (after %s)", err, took)
	case took > bound/2:
		return SourceRead.warn(subject, "%s read in %s, more than half of SOURCE_TIMEOUT=%s", plural(nodes, "node"), took, bound)
	}
	return SourceRead.ok(subject, "%s read in %s", plural(nodes, "node"), took)
}

// JudgeCloud says what is odd about the cloud, or that nothing is.
func JudgeCloud(facts CloudFacts, now time.Time) []Check {
	var checks []Check
	left := facts.Expires.Sub(now)
	switch at := facts.Expires.UTC().Format(time.RFC3339); {
	case facts.Expires.IsZero():
		checks = append(checks, SourceToken.skip("token", "there is none, or it does not say when it expires"))
	case left <= 0:
		checks = append(checks, SourceToken.fail("token", "it expired at %s", at))
	case left < expiring:
		checks = append(checks, SourceToken.warn("token", "it expires at %s, in %s", at, days(left)))
	default:
		checks = append(checks, SourceToken.ok("token", "it expires at %s, in %s", at, days(left)))
	}
	const share = 10 // a tenth is little
	switch {
	case facts.Limit == 0:
		checks = append(checks, SourceLimit.skip("rate limit", "the API has not said it"))
	case facts.Remaining*share < facts.Limit:
		checks = append(checks, SourceLimit.warn("rate limit", "%d of %s a minute are left", facts.Remaining, plural(facts.Limit, "request")))
	default:
		checks = append(checks, SourceLimit.ok("rate limit", "%d of %s a minute are left", facts.Remaining, plural(facts.Limit, "request")))
	}
	for _, warning := range facts.Warnings {
		checks = append(checks, SourceWarning.warn("cloud", "%s", warning))
	}
	return checks
}

// days spells a time to come in days, and hours where there are few.
func days(left time.Duration) string {
	const day = 24 * time.Hour
	if left < 2*day {
		return fmt.Sprint(plural(int(left.Hours()), "hour"))
	}
	return plural(int(left/day), "day")
}
