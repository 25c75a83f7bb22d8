package cli

// WarnOfToken is exported for its test, in which weeks pass.
var WarnOfToken = warnOfToken

// Judge, OutcomeOf and Ended are exported for what no small world brings about.
var (
	Judge     = judge
	OutcomeOf = outcomeOf
	Ended     = ended
)
