package admin

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

// tone is how loud a part of the page is. The page says the same in words and by
// a sign.
type tone string

const (
	good tone = "good"
	calm tone = "calm"
	warn tone = "warn"
	bad  tone = "bad"
)

// banner is one thing that the reader must not miss.
type banner struct {
	Tone  tone
	Title string
	// Said is the program's own words, with the numbers; there may be several.
	Said  []string
	Since *moment
	// Means is what it means for the traffic, Do what to do about it, and Runbook
	// the file of the documentation that says it at length.
	Means, Do, Runbook string
}

// banners returns all of them, the worst first.
func banners(d *report.Document, m moments) []banner {
	var all []banner
	for _, b := range []*banner{
		standstillBanner(d), failOpenBanner(d, m), problemBanner(d), storeBanner(d, m), refusedBanner(d), uncheckedBanner(d), removalBanner(d, m), holdBanner(d, m),
		besideBanner(d), sourceBanner(d, m), warningsBanner(d), handedOnBanner(d), standbyBanner(d, m), dryRunBanner(d),
	} {
		if b != nil {
			all = append(all, *b)
		}
	}
	return all
}

func standstillBanner(d *report.Document) *banner {
	if d.Standstill == "" {
		return nil
	}
	return &banner{
		Tone: bad, Title: "The program stands still", Said: []string{d.Standstill},
		Means: "What is shown here is old. Slices stay as they are, and dead backends stay in them.",
		Do:    "Restart it; a restart changes nothing that is published. Kubernetes does so by itself where /livez is its liveness probe.",

		Runbook: "docs/runbooks/IonosEndpointSliceNotSyncing.md",
	}
}

func failOpenBanner(d *report.Document, m moments) *banner {
	if d.Mode != guard.FailOpen.String() {
		return nil
	}
	return &banner{
		Tone: bad, Title: "Failing open: " + d.Reason, Said: []string{d.Message}, Since: m.at(d.Since),
		Means: "No backend passes its health check, so all of them are published as if they did: traffic may go to dead ones. To publish none would be an outage for certain.",
		Do:    "Check the workload and its port on the nodes, then the way from this daemon to them. It ends by itself as soon as a backend passes.",

		Runbook: "docs/runbooks/IonosEndpointSliceFailingOpen.md",
	}
}

func holdBanner(d *report.Document, m moments) *banner {
	if d.Mode != guard.Hold.String() {
		return nil
	}
	b := &banner{
		Tone: warn, Title: "Holding: " + d.Reason, Said: []string{d.Message}, Since: m.at(d.Since),
		Means: "The inventory looks wrong. What it leaves out stays while it passes its health check; what is down at EMPTY_RESULT_THRESHOLD such inventories in a row is removed. New nodes still join, and dead backends still go down.",
		Do:    "Check the source. Nodes that are really gone fail their health check: they go down, and are removed in time.",

		Runbook: "docs/runbooks/IonosEndpointSliceHolding.md",
	}
	if d.Removal != nil {
		b.Means = "The inventory looks wrong, and some of what it leaves out will be removed all the same; see above. New nodes still join."
		b.Do = "Check the source before that."
	}
	switch d.Reason {
	case string(guard.ProbesSilent):
		b.Means = "So many backends fell silent at once that this daemon's own network is suspected. Silence takes no backend down meanwhile; a refusal still does."
		b.Do = "Check the private network, and the way from this daemon to it."
	case string(guard.NothingPasses):
		b.Means = "No endpoint of the inventory passes its health check, but endpoints that leave do. They get the traffic until one of the others works."
		b.Do = "Find out why the endpoints of the inventory do not pass, before the leaving nodes are switched off."
	}
	return b
}

func removalBanner(d *report.Document, m moments) *banner {
	if d.Removal == nil {
		return nil
	}
	b := &banner{
		Tone: bad, Title: "Rejected inventories will remove endpoints", Said: []string{d.Removal.String() + "."},
		Means: "These endpoints are down, or as many new ones replace them. With HEALTH_CHECK_MODE=off they are all that the inventories leave out, and no check tells whether they work. Other endpoints that pass stay.",
		Do:    "Find out whether these nodes are really gone. If not, mend the source before that; EMPTY_RESULT_THRESHOLD=0 stops the removal meanwhile.",

		Runbook: "docs/runbooks/IonosEndpointSliceRemovalPending.md",
	}
	if at := m.at(d.Removal.At); at != nil {
		b.Said = append(b.Said, "That is "+at.Relative+".")
	}
	return b
}

func uncheckedBanner(d *report.Document) *banner {
	if d.Stages.Unchecked == 0 {
		return nil
	}
	return &banner{
		Tone: bad, Title: "Nobody watches some endpoints", Said: []string{"The health checks of " + counted(d.Stages.Unchecked, "endpoint", "endpoints") + " cannot be carried out."},
		Means: "They keep their state. One that dies now goes on getting traffic.",
		Do:    "The messages of these nodes name the error of this machine: mend that.",

		Runbook: "docs/runbooks/IonosEndpointSliceUnchecked.md",
	}
}

func problemBanner(d *report.Document) *banner {
	if d.Problem == nil {
		return nil
	}
	return &banner{
		Tone: bad, Title: "The Service cannot be filled: " + d.Problem.Kind, Said: []string{d.Problem.Message},
		Means: "No slice is created while that is so.",
		Do:    "Mend the Service as it says; no restart is needed.",

		Runbook: "docs/runbooks/IonosEndpointSliceServiceProblem.md",
	}
}

func storeBanner(d *report.Document, m moments) *banner {
	if d.Store.LastError == "" {
		return nil
	}
	title, runbook := "The slices cannot be written", "docs/runbooks/IonosEndpointSliceWritesFailing.md"
	if d.Store.LoadError != "" {
		title, runbook = "The slices cannot be read", "docs/runbooks/IonosEndpointSliceStoreUnavailable.md"
	}
	b := &banner{
		Tone: bad, Title: title, Said: []string{d.Store.LastError},
		Means: "Traffic goes on to what was written last. Dead backends stay published until this works again.",
		Do:    "Check the API server of the local cluster, and the rights of this program. It tries again by itself.",

		Runbook: runbook,
	}
	if d.Store.Pending > 0 {
		b.Said = append(b.Said, counted(d.Store.Pending, "slice waits", "slices wait")+" to be written.")
	}
	if last := m.at(d.Store.LastWrite); last != nil {
		b.Said = append(b.Said, "The last write was "+last.Relative+".")
	}
	return b
}

func sourceBanner(d *report.Document, m moments) *banner {
	if d.Source.LastError == "" {
		return nil
	}
	b := &banner{
		Tone: warn, Title: "The source cannot be read", Said: []string{d.Source.LastError},
		Means: "Nobody joins or leaves; health checks still take dead backends down and bring them back.",
		Do:    fmt.Sprintf("Check the source %q and the access to it.", d.Source.Kind),

		Runbook: "docs/runbooks/IonosEndpointSliceSourceFailing.md",
	}
	last := "It has never been read."
	if success := m.at(d.Source.LastSuccess); success != nil {
		last = "It was last read " + success.Relative + "."
	}
	b.Said = append(b.Said, last)
	if next := m.at(d.Source.NextRead); next != nil {
		b.Do += " The next attempt is " + next.Relative + "."
	}
	return b
}

func refusedBanner(d *report.Document) *banner {
	if len(d.Store.Refused) == 0 {
		return nil
	}
	return &banner{
		Tone: bad, Title: "Slices of our names belong to somebody else", Said: d.Store.Refused,
		Means: "They are left alone, and what should be in them is not published.",
		Do:    "Remove them, or set TARGET_ENDPOINTSLICE_NAME to another name.",
	}
}

func besideBanner(d *report.Document) *banner {
	if len(d.Store.Beside) == 0 {
		return nil
	}
	return &banner{
		Tone: warn, Title: "Others publish endpoints for the same Service", Said: d.Store.Beside,
		Means: "Traffic goes to theirs as well, and nobody checks the health of those.",
		Do:    "Find out who made them, and remove them if they are left over.",
	}
}

func standbyBanner(d *report.Document, m moments) *banner {
	if d.Leader || !d.Election.Enabled {
		return nil
	}
	b := &banner{
		Tone: calm, Title: "Standing by", Since: m.at(d.Election.Since),
		Means: "This replica reads, probes and writes nothing until it leads. It knows no nodes.",
		Do:    "Look at the page of the replica that leads.",
	}
	if d.Election.Holder == "" {
		b.Tone, b.Said, b.Do = warn, []string{"No replica is known to lead."}, "Wait for a moment; then check the lease and the rights to it."
		return b
	}
	b.Said = []string{d.Election.Holder + " leads."}
	if d.Election.LeaderError != "" {
		b.Tone, b.Said = warn, append(b.Said, "Its status cannot be read: "+d.Election.LeaderError+".")
		b.Do += " If its Pod is gone, another replica leads within 17 s. If not, let the replicas reach METRICS_ADDRESS of each other."
	}
	return b
}

// handedOnBanner says that the page is the leader's.
func handedOnBanner(d *report.Document) *banner {
	if d.HandedOnBy == "" {
		return nil
	}
	return &banner{
		Tone: calm, Title: "The status of the leader", Said: []string{d.Election.Holder + " leads and says what follows."},
		Means: d.HandedOnBy + " answers here. It stands by and hands on the status of the leader.",
	}
}

func dryRunBanner(d *report.Document) *banner {
	if !d.DryRun {
		return nil
	}
	b := &banner{Tone: calm, Title: "Dry run", Means: "Everything is decided and nothing is written.", Do: "Remove DRY_RUN, or --dry-run, to write."}
	if d.Store.Pending > 0 {
		b.Said = []string{counted(d.Store.Pending, "slice", "slices") + " would be written."}
	}
	return b
}

func warningsBanner(d *report.Document) *banner {
	if len(d.Source.Warnings) == 0 {
		return nil
	}
	return &banner{Tone: warn, Title: "The source finds something odd", Said: d.Source.Warnings, Means: "It can be read all the same."}
}
