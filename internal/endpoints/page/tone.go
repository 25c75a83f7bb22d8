package page

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"

// tone is how loud a part of the page is. The page says the same in words and by
// a sign.
type tone string

const (
	good tone = "good"
	calm tone = "calm"
	warn tone = "warn"
	bad  tone = "bad"
)

// Sign is the tone as a character.
func (t tone) Sign() string {
	return map[tone]string{good: "✓", calm: "…", warn: "!", bad: "✗"}[t]
}

// Look is the mark of the tone in a table.
func (t tone) Look() string {
	return map[tone]string{good: "ready", warn: "draining", bad: "down", calm: "absent"}[t]
}

// toneOf is the tone of a condition.
func toneOf(c report.Condition) tone { return moods[c].Tone }

// moods are the tone of the headline and its word for each condition.
var moods = map[report.Condition]struct {
	Tone tone
	Word string
}{
	report.StandingBy:   {calm, "Standing by"},
	report.FailOpen:     {bad, "FailOpen"},
	report.Failing:      {bad, "In trouble"},
	report.Starting:     {warn, "Starting"},
	report.Hold:         {warn, "Hold"},
	report.NothingReady: {bad, "Nothing ready"},
	report.Degraded:     {warn, "Degraded"},
	report.Refused:      {warn, "Refused"},
	report.Healthy:      {good, "Healthy"},
}

// mood is the tone of the headline and its word. A standby is as loud as its
// worst banner.
func mood(c report.Condition, banners []banner) (tone, string) {
	m := moods[c]
	if c != report.StandingBy {
		return m.Tone, m.Word
	}
	for _, b := range banners {
		if b.Tone == bad || b.Tone == warn && m.Tone != bad {
			m.Tone = b.Tone
		}
	}
	return m.Tone, m.Word
}
