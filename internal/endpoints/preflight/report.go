package preflight

import "slices"

// Report is what a preflight found.
type Report struct {
	APIVersion string `json:"apiVersion"`
	// OK says that no check failed.
	OK      bool    `json:"ok"`
	Summary string  `json:"summary"`
	Counts  Counts  `json:"counts"`
	Areas   []Area  `json:"areas"`
	Checks  []Check `json:"checks"`
}

// NewReport orders the checks by section and counts them. Within a section they
// keep their order.
func NewReport(checks []Check) Report {
	order := Sections()
	sorted := slices.Clone(checks)
	slices.SortStableFunc(sorted, func(a, b Check) int {
		return slices.Index(order, a.Section) - slices.Index(order, b.Section)
	})
	r := Report{APIVersion: "v1", Areas: areasOf(sorted), Checks: sorted}
	for _, c := range sorted {
		r.Counts.add(c.Result)
	}
	r.OK = r.Counts.Fail == 0
	r.Summary = r.Counts.summary()
	return r
}

// Short returns the report with the checks that are not as they should be, and
// no others. All are counted.
func (r Report) Short() Report {
	r.Checks = slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Result != Warn && c.Result != Fail })
	return r
}

// Failed reports whether a check of that kind failed.
func (r Report) Failed(id ID) bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.ID == id && c.Result == Fail })
}
