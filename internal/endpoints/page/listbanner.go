package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// listBanners are those of the page of all Services, the worst first. A part of them is
// that of every page.
func listBanners(t *report.Services, m moments) []banner {
	d := &report.Document{Headline: t.Headline}
	unread := slices.DeleteFunc(slices.Clone(t.Pools), func(p report.PoolStatus) bool { return p.Source == nil || p.Source.LastError == "" })
	documents := cmp.Or(t.Documents, &report.Documents{})
	all := []banner{
		standstillBanner(t.Standstill),
		{when: t.ServicesKept != "", Tone: warn, Title: "Many Services vanished at once, and are kept", Said: []string{t.ServicesKept + "."}, Means: "Their endpoints stay published and checked."},
		{
			when: len(unread) > 0, Tone: warn, Title: "Sources that cannot be read", Said: several(unread, m.unread),
			Means:   "No node joins or leaves these pools. Health checks still take dead endpoints down and bring them back. A pool that was never read has no new endpoint.",
			Do:      "Check the source of each pool, its credentials, and the network between this daemon and the source. The daemon tries again by itself.",
			Runbook: "docs/runbooks/inventory.md#ionosendpointslicesourcefailing",
		},
		{
			when: len(t.ServicesWithoutPool) > 0, Tone: warn, Title: "Slices of pools that no document describes",
			Said: several(t.ServicesWithoutPool, func(l report.ServiceWithoutPool) string {
				return fmt.Sprintf("Slice %s of Service %s/%s, pool %s, %s.", l.Slice, l.Namespace, l.Service, l.Pool, inventory.Counted(l.Endpoints, "endpoint", "endpoints"))
			}),
			Means: "These slices stay as they are, and their endpoints are not checked.",
			Do:    "Bring the documents of the pools back, or delete the slices.",
		},
		{
			when: len(documents.Mistakes) > 0, Tone: warn, Title: "Mistakes in documents",
			Said:  several(documents.Mistakes, func(m report.Mistake) string { return m.Place + ": " + m.Message + "." }),
			Means: "A document with a mistake keeps its last good version. Without a good version its published endpoints stay.",
		},
		{
			when: documents.StatusError != "", Tone: warn, Title: "The status of objects is not written", Said: []string{documents.StatusError + "."},
			Means: "The status of these objects is out of date. Their slices are still written.",
			Do:    "Give this program the right to update endpointpools/status and endpointbindings/status, or let the admission policy or webhook that is named allow it.",
		},
	}
	return holding(append(all, roles(d, m)...))
}

// unread says of a pool why its source cannot be read.
func (m moments) unread(p report.PoolStatus) string {
	last := "never read"
	if at := m.When(p.Source.LastSuccess); at != nil {
		last = "last read " + at.Relative
	}
	return fmt.Sprintf("Pool %s (%s), %s: %s.", p.Name, p.Source.Kind, last, p.Source.LastError)
}
