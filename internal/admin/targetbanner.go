package admin

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

// refusalBanner says what the Service asks for and does not get.
func refusalBanner(d *report.Document) *banner {
	if len(d.Refusals) == 0 {
		return nil
	}
	b := &banner{Tone: warn, Title: "Not everything that the Service asks for is granted", Means: "What was granted before stays published and checked."}
	for _, r := range d.Refusals {
		b.Said = append(b.Said, r.Reason+": "+r.Message+".")
	}
	return b
}

// usesBanner says which pools the Service is about to leave, or to use in another way.
func usesBanner(d *report.Document, m moments) *banner {
	b := &banner{Tone: warn, Title: "What is published changes"}
	for _, p := range d.Pools {
		if p.State == report.Active {
			continue
		}
		said := fmt.Sprintf("Pool %s is %s: %s.", p.Name, p.State, p.StateMessage)
		if d.OfVariables() {
			said = fmt.Sprintf("The endpoints are %s: %s.", p.State, p.StateMessage)
		}
		if at := m.at(p.LeavesAt); at != nil {
			said += " Its slices are emptied " + at.Relative + "."
		}
		b.Said = append(b.Said, said)
	}
	if len(b.Said) == 0 {
		return nil
	}
	return b
}

// noticesBanner says which wishes have no effect.
func noticesBanner(d *report.Document) *banner {
	if len(d.Notices) == 0 {
		return nil
	}
	b := &banner{Tone: calm, Title: "Settings without effect"}
	for _, n := range d.Notices {
		b.Said = append(b.Said, n.Message+".")
	}
	return b
}

// mostMistakes is how many mistakes of documents the page names.
const mostMistakes = 20

// listBanners are those of the page of all targets, the worst first. A part of them is
// that of every page.
func listBanners(t *report.Services, m moments) []banner {
	d := &report.Document{
		Standstill: t.Standstill, Mode: "Publish", Leader: t.Leader, Election: t.Election, HandedOnBy: t.HandedOnBy, DryRun: t.DryRun,
	}
	var all []banner
	for _, b := range []*banner{
		standstillBanner(d), keptBanner(t), sourcesBanner(t, m), lostBanner(t), mistakesBanner(t), unwrittenBanner(t), handedOnBanner(d), standbyBanner(d, m), dryRunBanner(d),
	} {
		if b != nil {
			all = append(all, *b)
		}
	}
	return legibly(d, all)
}

func keptBanner(t *report.Services) *banner {
	if t.ServicesKept == "" {
		return nil
	}
	return &banner{Tone: warn, Title: "Many Services vanished at once, and are kept", Said: []string{t.ServicesKept + "."}, Means: "Their endpoints stay published and checked."}
}

// sourcesBanner names the pools whose source cannot be read.
func sourcesBanner(t *report.Services, m moments) *banner {
	b := &banner{
		Tone: warn, Title: "Sources that cannot be read",
		Means: "No node joins or leaves these pools. Health checks still take dead endpoints down and bring them back. A pool that was never read has no new endpoint.",
		Do:    "Check the source of each pool, its credentials, and the network between this daemon and the source. The daemon tries again by itself.",

		Runbook: "docs/runbooks/IonosEndpointSliceSourceFailing.md",
	}
	failing := 0
	for i := range t.Pools {
		p := &t.Pools[i]
		if p.Source == nil || p.Source.LastError == "" {
			continue
		}
		if failing++; failing > mostMistakes {
			continue
		}
		last := "never read"
		if at := m.at(p.Source.LastSuccess); at != nil {
			last = "last read " + at.Relative
		}
		b.Said = append(b.Said, fmt.Sprintf("Pool %s (%s), %s: %s.", p.Name, p.Source.Kind, last, p.Source.LastError))
	}
	if more := failing - mostMistakes; more > 0 {
		b.Said = append(b.Said, fmt.Sprintf("%d more.", more))
	}
	if failing == 0 {
		return nil
	}
	return b
}

func lostBanner(t *report.Services) *banner {
	if len(t.ServicesWithoutPool) == 0 {
		return nil
	}
	b := &banner{
		Tone: warn, Title: "Slices of pools that no document describes",
		Means: "These slices stay as they are, and their endpoints are not checked.",
		Do:    "Bring the documents of the pools back, or delete the slices.",
	}
	for i, l := range t.ServicesWithoutPool {
		if i == mostMistakes {
			b.Said = append(b.Said, fmt.Sprintf("%d more.", len(t.ServicesWithoutPool)-i))
			break
		}
		b.Said = append(b.Said, fmt.Sprintf("Slice %s of Service %s/%s, pool %s, %s.", l.Slice, l.Namespace, l.Service, l.Pool, counted(l.Endpoints, "endpoint", "endpoints")))
	}
	return b
}

func unwrittenBanner(t *report.Services) *banner {
	if t.Documents == nil || t.Documents.StatusError == "" {
		return nil
	}
	return &banner{
		Tone: warn, Title: "The status of objects is not written", Said: []string{t.Documents.StatusError + "."},
		Means: "These objects in the API server say what was true before. Their slices are written as always.",
		Do:    "Give this program the right to update endpointpools/status and endpointbindings/status, or let the admission policy or webhook that is named allow it.",
	}
}

func mistakesBanner(t *report.Services) *banner {
	if t.Documents == nil || len(t.Documents.Mistakes) == 0 {
		return nil
	}
	b := &banner{
		Tone: warn, Title: "Mistakes in documents",
		Means: "A document with a mistake keeps its last good version. Where none is known, what was published before stays.",
	}
	for i, mistake := range t.Documents.Mistakes {
		if i == mostMistakes {
			b.Said = append(b.Said, fmt.Sprintf("%d more.", len(t.Documents.Mistakes)-i))
			break
		}
		b.Said = append(b.Said, mistake.Place+": "+mistake.Message+".")
	}
	return b
}
