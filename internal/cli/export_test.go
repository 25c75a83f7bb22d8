package cli

// WarnOfToken and WarnOfCredential are exported for their tests, in which weeks
// pass.
var (
	WarnOfToken      = warnOfToken
	WarnOfCredential = warnOfCredential
)

// AskLeader and AskLeaderFor are exported for what answers badly.
var (
	AskLeader    = askLeader
	AskLeaderFor = askLeaderFor
)

// Judge, OutcomeOf and Ended are exported for what no small world brings about.
var (
	Judge     = judge
	OutcomeOf = outcomeOf
	Ended     = ended
)

// FirstLabels is exported for more labels than a test gives to namespaces.
var FirstLabels = firstLabels
