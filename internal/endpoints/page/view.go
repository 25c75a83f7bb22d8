package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// view is what the template of the page is filled with. All texts in it are
// legible.
type view struct {
	Tone tone
	// Sign and Word say what Tone says by colour, Headline is the summary.
	Sign, Word, Headline, Title string
	Now, LastRead, NextRead     *moment
	Banners                     []banner
	Stages                      []stage
	Facts                       []fact
	Query                       query
	Choices                     []choice
	Refreshes                   []int
	Groups                      []group
	// Known counts all nodes, Matching those asked for, Hidden those of them that
	// are not shown, Uncounted those of all that the headline does not count.
	Known, Matching, Hidden, Uncounted int
	// Empty says why there is no node.
	Empty string
	// Pools are those of the Service, where documents say which.
	Pools  []partRow
	Cycles []cycle
}

// stage is one step of the way from the inventory to the slices.
type stage struct {
	Name  string
	Count int
	Means string
	Tone  tone
	// Last ends the way; what comes behind it are the states at its end.
	Last bool
}

// fact is one line about the program.
type fact struct {
	Name, Text string
	At         *moment
	Detail     string
}

// choice is a state that can be asked for by one click.
type choice struct {
	Text, Link string
	Count      int
	Chosen     bool
}

// viewOf makes the view of a document.
func viewOf(d *report.Document, q query) view {
	m := moments{d.At}
	v := view{
		Query: q, Headline: legible(d.Summary),
		Now: m.at(d.At), LastRead: m.at(d.Source.LastSuccess), NextRead: m.at(d.Source.NextRead),
		Banners: legibly(d, banners(d, m)), Stages: stages(d), Facts: facts(d, m), Cycles: cycles(d, m), Pools: parts(d, m),
	}
	v.Tone, v.Word = mood(d, v.Banners)
	v.Sign = v.Tone.sign()
	v.Title = v.Sign + " " + v.Headline
	v.pick(d, m)
	v.Refreshes = refreshes(q.Refresh)
	return v
}

// refreshes are the pauses that the page offers, with the one that is chosen.
func refreshes(chosen int) []int {
	all := []int{5, 15, 60}
	if chosen > 0 && !slices.Contains(all, chosen) {
		all = append(all, chosen)
		slices.Sort(all)
	}
	return all
}

// legibly makes the texts of banners legible, and names settings as the document does:
// what banners tell is that of its worst pool.
func legibly(d *report.Document, banners []banner) []banner {
	names := d.Names("")
	for i := range banners {
		banners[i].Means, banners[i].Do = names.Of(banners[i].Means), names.Of(banners[i].Do)
		banners[i].Title = prose(banners[i].Title)
		for j, said := range banners[i].Said {
			banners[i].Said[j] = prose(said)
		}
	}
	return banners
}

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
	report.Healthy:      {good, "Healthy"},
}

// mood is the tone of the headline and its word. A standby is as loud as its
// worst banner.
func mood(d *report.Document, banners []banner) (tone, string) {
	m := moods[d.Condition]
	if d.Condition != report.StandingBy {
		return m.Tone, m.Word
	}
	for _, b := range banners {
		if b.Tone == bad || b.Tone == warn && m.Tone != bad {
			m.Tone = b.Tone
		}
	}
	return m.Tone, m.Word
}

// stages are the counts, in the order of the data's way. A standby has none.
func stages(d *report.Document) []stage {
	if !d.Leader {
		return nil
	}
	published := "published"
	if d.DryRun {
		published = "would be published"
	}
	toneOf := func(n int, t tone) tone {
		if n == 0 {
			return ""
		}
		return t
	}
	return []stage{
		{Name: "nodes", Count: d.Stages.Nodes, Means: "in the last inventory"},
		{Name: "eligible", Count: d.Stages.Eligible, Means: "endpoints that may be published"},
		{Name: "passing", Count: d.Stages.Passing, Means: "their last health check passed", Last: true},
		{Name: "ready", Count: d.Stages.Ready, Means: published + ", get traffic", Tone: toneOf(d.Stages.Ready, good)},
		{Name: "draining", Count: d.Stages.Draining, Means: published + ", finish what they have", Tone: toneOf(d.Stages.Draining, warn)},
		{Name: "down", Count: d.Stages.Down, Means: published + ", get no traffic", Tone: toneOf(d.Stages.Down, bad)},
	}
}

// facts are the lines about source, store and program.
func facts(d *report.Document, m moments) []fact {
	leader := "this process"
	switch {
	case d.Election.Enabled && d.Election.Holder != "":
		leader = d.Election.Holder
	case !d.Leader:
		leader = "not known"
	}
	all := []fact{
		{Name: "Mode", Text: d.Mode, Detail: d.Reason},
		{Name: "Last inventory", At: m.at(d.Source.LastSuccess), Text: "never", Detail: "source " + d.Source.Kind},
		{Name: "Next inventory", At: m.at(d.Source.NextRead), Text: "not planned"},
		{Name: "Last write", At: m.at(d.Store.LastWrite), Text: "none by this process", Detail: "store " + d.Store.Kind},
		{Name: "Slices", Text: strings.Join(d.Service.Slices, ", ")},
		{Name: "Leader", Text: leader},
		{Name: "Up for", Text: latency(d.Program.UptimeSeconds)},
		{Name: "Version", Text: d.Program.Version},
	}
	if d.Source.RejectedInventories > 0 {
		all[1].Detail += ", " + counted(d.Source.RejectedInventories, "rejected inventory", "rejected inventories") + " in a row"
	}
	if d.Store.PendingSlices > 0 {
		all[3].Detail += ", " + strconv.Itoa(d.Store.PendingSlices) + " pending"
	}
	if len(d.Service.Slices) == 0 {
		all[4].Text = "none"
	}
	for _, document := range d.DecidedBy {
		all = append(all, fact{Name: "Decided by", Text: document.String()})
	}
	for i := range all {
		all[i].Text, all[i].Detail = legible(all[i].Text), legible(all[i].Detail)
	}
	return all
}

// pick chooses the nodes that are asked for.
func (v *view) pick(d *report.Document, m moments) {
	terms := v.Query.terms()
	found := slices.DeleteFunc(slices.Clone(d.Nodes), func(n report.Node) bool { return !contains(n, terms) })
	for _, state := range append([]string{""}, filterStates()...) {
		q := v.Query.inState(state)
		c := choice{Text: state, Link: q.link(), Chosen: state == v.Query.State}
		switch state {
		case "":
			c.Text = "all"
		case notReady:
			c.Text = "not ready"
		}
		for _, n := range found {
			if q.hasState(n) {
				c.Count++
			}
		}
		v.Choices = append(v.Choices, c)
	}
	for _, n := range d.Nodes {
		if !n.Meant() {
			v.Uncounted++
		}
	}
	found = slices.DeleteFunc(found, func(n report.Node) bool { return !v.Query.hasState(n) })
	v.Known, v.Matching, v.Hidden = len(d.Nodes), len(found), max(0, len(found)-maxRows)
	v.Groups = groups(found, m)
	switch {
	case len(d.Nodes) == 0 && !d.Leader:
		v.Empty = "This replica stands by and knows no nodes."
	case len(d.Nodes) == 0 && d.Source.LastSuccess.IsZero():
		v.Empty = "The source has not been read yet, and the slices publish nothing."
	case len(d.Nodes) == 0:
		v.Empty = "The source lists no node, and the slices publish nothing."
	case len(found) == 0:
		v.Empty = "No node matches."
	}
}
