package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// banner is one thing that the reader must not miss.
type banner struct {
	// when says that it holds.
	when  bool
	Tone  tone
	Title string
	// Said is the program's own words, with the numbers; there may be several.
	Said  []string
	Since *moment
	// Means is what it means for the traffic, Do what to do about it, and Runbook
	// the section of the documentation that says it at length.
	Means, Do, Runbook string
}

// banners returns all that hold, the worst first. They name settings as the document does:
// what banners tell is that of its worst pool.
func banners(d *report.Document, m moments) []banner {
	all, names := holding(slices.Concat(faults(d, m), doubts(d, m), roles(d, m))), d.Names("")
	for i := range all {
		all[i].Means, all[i].Do = names.Of(all[i].Means), names.Of(all[i].Do)
	}
	return all
}

func holding(all []banner) []banner {
	return slices.DeleteFunc(all, func(b banner) bool { return !b.when })
}

// faults may cost traffic.
func faults(d *report.Document, m moments) []banner {
	problem := cmp.Or(d.Problem, &report.Problem{})
	return []banner{
		standstillBanner(d.Standstill),
		{
			when: d.Mode == guard.FailOpen.String(), Tone: bad, Title: "Failing open: " + d.Reason, Said: []string{d.Message}, Since: m.When(d.Since),
			Means:   "No endpoint passes its health check, so all of them are published as ready: traffic may go to dead ones. Publishing none would certainly be an outage.",
			Do:      "Check the workload and its port on the nodes, then the network between this daemon and the nodes. Failing open ends by itself as soon as an endpoint passes.",
			Runbook: "docs/runbooks/no-traffic.md#ionosendpointslicefailingopen",
		},
		{
			when: d.Problem != nil, Tone: bad, Title: "The Service cannot be filled: " + problem.Kind, Said: []string{problem.Message},
			Means:   "No slice is created until the Service is corrected.",
			Do:      "Correct the Service as the message says; no restart is needed.",
			Runbook: "docs/runbooks/no-traffic.md#ionosendpointsliceserviceproblem",
		},
		storeBanner(d, m),
		{
			when: len(d.Store.SlicesOfOthers) > 0, Tone: bad, Title: "Slices with the names of this program belong to another one", Said: d.Store.SlicesOfOthers,
			Means: "These slices are left alone, so the endpoints that should be in them are not published.",
			Do:    "Remove these slices, or set TARGET_ENDPOINTSLICE_NAME to another name.",
		},
		{
			when: d.Stages.Unchecked > 0, Tone: bad, Title: "Some endpoints are not checked",
			Said:    []string{"The health checks of " + inventory.Counted(d.Stages.Unchecked, "endpoint", "endpoints") + " cannot be carried out."},
			Means:   "These endpoints keep their state. One that dies now keeps getting traffic.",
			Do:      "The messages of these nodes name the error of this machine. Repair that.",
			Runbook: "docs/runbooks/health-checks.md#ionosendpointsliceendpointsunchecked",
		},
		removalBanner(d, m),
	}
}

// doubts are what is odd while traffic flows.
func doubts(d *report.Document, m moments) []banner {
	return []banner{
		holdBanner(d, m),
		{
			when: len(d.Refusals) > 0, Tone: warn, Title: "Not everything that the Service asks for is granted",
			Said:  several(d.Refusals, func(r report.Refusal) string { return r.Reason + ": " + r.Message + "." }),
			Means: "What was granted before stays published and checked.",
		},
		usesBanner(d, m),
		{
			when: len(d.Store.SlicesBeside) > 0, Tone: warn, Title: "Others publish endpoints for the same Service", Said: d.Store.SlicesBeside,
			Means: "Traffic goes to these endpoints too, and this program does not check their health.",
			Do:    "Find out which program made these slices, and remove them if they are left over.",
		},
		sourceBanner(d, m), replicasBanner(d, m),
		{when: len(d.Source.Warnings) > 0, Tone: warn, Title: "The source has warnings", Said: d.Source.Warnings, Means: "The source can still be read."},
		{
			when: len(d.Notices) > 0, Tone: calm, Title: "Settings without effect",
			Said: several(d.Notices, func(n report.Notice) string { return n.Message + "." }),
		},
	}
}

// roles say what the program is, and who answers.
func roles(d *report.Document, m moments) []banner {
	return []banner{
		{
			when: d.HandedOnBy != "", Tone: calm, Title: "The status of the leader", Said: []string{d.Election.Holder + " leads and says what follows."},
			Means: d.HandedOnBy + " answers here. It stands by and hands on the status of the leader.",
		},
		standbyBanner(d, m), dryRunBanner(d),
	}
}

func standstillBanner(why string) banner {
	return banner{
		when: why != "", Tone: bad, Title: "The program stands still", Said: []string{why},
		Means:   "What is shown here is old. Slices stay as they are, and dead endpoints stay in them.",
		Do:      "Restart the program; a restart changes nothing that is published. Kubernetes restarts it by itself if /livez is the liveness probe.",
		Runbook: "docs/runbooks/program.md#ionosendpointslicenotsyncing",
	}
}

func holdBanner(d *report.Document, m moments) banner {
	b := banner{
		when: d.Mode == guard.Hold.String(), Tone: warn, Title: "Holding: " + d.Reason, Said: []string{d.Message}, Since: m.When(d.Since),
		Means:   "The inventory looks wrong, so it was rejected. An endpoint that it leaves out stays while it passes its health check; one that is down at EMPTY_RESULT_THRESHOLD such inventories in a row is removed. New nodes still join, and dead endpoints still go down.",
		Do:      "Check the source. Nodes that are really gone fail their health check: their endpoints go down, and are removed later.",
		Runbook: "docs/runbooks/inventory.md#ionosendpointsliceholding",
	}
	if d.Removal != nil {
		b.Means = "The inventory looks wrong, and was rejected. Some endpoints that it leaves out will still be removed; see above. New nodes still join."
		b.Do = "Check the source before they are removed."
	}
	switch d.Reason {
	case string(guard.ProbesSilent):
		b.Means = "So many endpoints stopped answering at once that the network of this daemon is the likely cause. An endpoint that does not answer stays ready meanwhile; one that refuses connections still goes down."
		b.Do = "Check the private network, and the connection of this daemon to it."
	case string(guard.NothingPasses):
		b.Means = "No endpoint of the inventory passes its health check, but endpoints that leave do. The leaving endpoints get the traffic until one of the others passes."
		b.Do = "Find out why the endpoints of the inventory do not pass, before the leaving nodes are switched off."
	}
	return b
}

func removalBanner(d *report.Document, m moments) banner {
	removal := cmp.Or(d.Removal, &report.Removal{})
	b := banner{
		when: d.Removal != nil, Tone: bad, Title: "Rejected inventories will remove endpoints", Said: []string{removal.String() + "."},
		Means:   "These endpoints are down, or as many new ones replace them. With HEALTH_CHECK_MODE=off they are all that the inventories leave out, and no check tells whether they work. Other endpoints that pass stay.",
		Do:      "Find out whether these nodes are really gone. If they are not, repair the source before the endpoints are removed; EMPTY_RESULT_THRESHOLD=0 stops the removal meanwhile.",
		Runbook: "docs/runbooks/inventory.md#ionosendpointsliceremovalpending",
	}
	if at := m.When(removal.At); at != nil {
		b.Said = append(b.Said, "That is "+at.Relative+".")
	}
	return b
}

func storeBanner(d *report.Document, m moments) banner {
	title, runbook := "The slices cannot be written", "docs/runbooks/api-server.md#ionosendpointslicewritesfailing"
	if d.Store.LoadError != "" {
		title, runbook = "The slices cannot be read", "docs/runbooks/api-server.md#ionosendpointslicestoreunavailable"
	}
	b := banner{
		when: d.Store.LastError != "", Tone: bad, Title: title, Said: []string{d.Store.LastError},
		Means:   "Traffic goes to the endpoints that were written last. Dead endpoints stay published until this works again.",
		Do:      "Check the API server of the local cluster, and the rights of this program. The program tries again by itself.",
		Runbook: runbook,
	}
	if d.Store.PendingSlices > 0 {
		b.Said = append(b.Said, inventory.Counted(d.Store.PendingSlices, "slice waits", "slices wait")+" to be written.")
	}
	if last := m.When(d.Store.LastWrite); last != nil {
		b.Said = append(b.Said, "The last write was "+last.Relative+".")
	}
	return b
}

// usesBanner says which pools the Service is about to leave, or to use in another way.
func usesBanner(d *report.Document, m moments) banner {
	b := banner{Tone: warn, Title: "What is published changes"}
	for _, p := range d.Pools {
		if p.State == report.Active {
			continue
		}
		said := fmt.Sprintf("Pool %s is %s: %s.", p.Name, p.State, p.StateMessage)
		if d.OfVariables() {
			said = fmt.Sprintf("The endpoints are %s: %s.", p.State, p.StateMessage)
		}
		if at := m.When(p.LeavesAt); at != nil {
			said += " Its slices are emptied " + at.Relative + "."
		}
		b.Said = append(b.Said, said)
	}
	b.when = len(b.Said) > 0
	return b
}

// maxSaid is how many things of one kind a banner names.
const maxSaid = 20

// several says the first of a list, and how many more there are.
func several[E any](all []E, say func(E) string) []string {
	var said []string
	for _, one := range all[:min(len(all), maxSaid)] {
		said = append(said, say(one))
	}
	if more := len(all) - maxSaid; more > 0 {
		said = append(said, fmt.Sprintf("%d more.", more))
	}
	return said
}

func sourceBanner(d *report.Document, m moments) banner {
	b := banner{
		when: d.Source.LastError != "", Tone: warn, Title: "The source cannot be read", Said: []string{d.Source.LastError},
		Means:   "No node joins or leaves. Health checks still take dead endpoints down and bring them back.",
		Do:      fmt.Sprintf("Check the source %q and the access to it.", d.Source.Kind),
		Runbook: "docs/runbooks/inventory.md#ionosendpointslicesourcefailing",
	}
	last := "The source has never been read."
	if success := m.When(d.Source.LastSuccess); success != nil {
		last = "The source was last read " + success.Relative + "."
	}
	b.Said = append(b.Said, last)
	if next := m.When(d.Source.NextRead); next != nil {
		b.Do += " The next attempt is " + next.Relative + "."
	}
	return b
}

// replicasBanner says that the leader does not reach what another replica reaches.
func replicasBanner(d *report.Document, m moments) banner {
	held := 0
	for i := range d.Nodes {
		if d.Nodes[i].Reason == string(inventory.ReadyElsewhere) {
			held++
		}
	}
	b := banner{
		when: held > 0, Tone: warn, Title: "Replicas disagree",
		Said:    []string{inventory.Counted(held, "endpoint does", "endpoints do") + " not answer the leader, but another replica connects to them."},
		Means:   "These endpoints stay ready. After a minute the lease moves to a replica that reaches them and all that the leader reaches, once in ten minutes at most.",
		Do:      "Check the network between the node of the leader and these endpoints.",
		Runbook: "docs/runbooks/health-checks.md#ionosendpointslicereplicasdisagree",
	}
	for _, r := range d.Election.Replicas {
		if since := m.When(r.Since); since != nil {
			b.Said = append(b.Said, fmt.Sprintf("%s reaches %d since %s.", r.Name, r.Reaches, since.Relative))
		}
	}
	if at := m.When(d.Election.HandedOver); at != nil {
		b.Said = append(b.Said, "The lease was last given to another replica for that "+at.Relative+".")
	}
	return b
}

func standbyBanner(d *report.Document, m moments) banner {
	b := banner{
		when: !d.Leader && d.Election.Enabled, Tone: calm, Title: "Standing by", Since: m.When(d.Election.Since),
		Means: "This replica reads, probes and writes nothing until it leads. It knows no nodes.",
		Do:    "Look at the page of the replica that leads.",
	}
	if d.Election.Holder == "" {
		b.Tone, b.Said, b.Do = warn, []string{"No replica is known to lead."}, "Wait a moment. If no replica leads then, check the lease and the rights to it."
		return b
	}
	b.Said = []string{d.Election.Holder + " leads."}
	if d.Election.LeaderError != "" {
		b.Tone, b.Said = warn, append(b.Said, "Its status cannot be read: "+d.Election.LeaderError+".")
		b.Do += " If its Pod is gone, another replica leads within 17 s. If not, let the replicas reach METRICS_ADDRESS of each other."
	}
	return b
}

func dryRunBanner(d *report.Document) banner {
	b := banner{when: d.DryRun, Tone: calm, Title: "Dry run", Means: "The program decides as always and writes no slice.", Do: "Remove DRY_RUN, or --dry-run, to write."}
	if len(d.DecidedBy) > 0 {
		b.Do = "Remove what asks for it, to write: DRY_RUN or --dry-run of the program, or spec.mode: DryRun of the EndpointBinding."
	}
	if d.Store.PendingSlices > 0 {
		b.Said = []string{inventory.Counted(d.Store.PendingSlices, "slice", "slices") + " would be written."}
	}
	return b
}
