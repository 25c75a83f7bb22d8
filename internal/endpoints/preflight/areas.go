package preflight

import (
	"fmt"
	"slices"
	"strings"
)

// needs are the checks without which the section cannot be judged at all: if one of
// them fails, the section is skipped and that failure is shown.
func (s Section) needs() []ID {
	switch s {
	case Nodes:
		return []ID{SourceRead}
	case Probes:
		return []ID{SourceRead, NodesUsable}
	case Rights, Service, Slices:
		return []ID{APIAccess, APIReachable, APIIdentity}
	case Configuration, Documents, Source, API:
	}
	return nil
}

// uses are the checks without which a part of the section cannot be judged: the
// nodes tell the families, and how many slices there will be.
func (s Section) uses() []ID {
	if s == Rights || s == Service {
		return []ID{SourceRead}
	}
	return nil
}

// looksAt reports whether a section is to be looked at.
func (o Options) looksAt(section Section) bool {
	return len(o.Only) == 0 || slices.Contains(o.Only, section)
}

// Asks reports whether anything of a section has to be asked for: it is to be
// looked at, or one that is cannot be judged without it. Only variables say all of the
// health checks: else Services may.
func (o Options) Asks(section Section) bool {
	return o.looksAt(section) || section == API && o.looksAt(Probes) && !o.Documents.Variables || slices.ContainsFunc(o.Only, func(only Section) bool {
		return slices.ContainsFunc(slices.Concat(only.needs(), only.uses()), func(id ID) bool { return id.section() == section })
	})
}

// chosen returns the checks of the sections that are to be looked at, and what
// failed of those that they need. What they only use is shown, and fails nothing.
func (o Options) chosen(checks []Check) []Check {
	var chosen []Check
	for _, c := range checks {
		without := func(section Section) bool { return c.Result == Fail && slices.Contains(section.needs(), c.ID) }
		lacking := func(section Section) bool { return c.Result == Fail && slices.Contains(section.uses(), c.ID) }
		switch {
		case o.looksAt(c.Section), slices.ContainsFunc(o.Only, without):
			chosen = append(chosen, c)
		case slices.ContainsFunc(o.Only, lacking):
			chosen = append(chosen, c.ID.skip(c.Subject, "not counted, and what depends on the nodes is not checked: %s", c.Message))
		}
	}
	return chosen
}

// Area is what the checks of one section came to.
type Area struct {
	Section Section `json:"section"`
	// Result is the worst of its checks, and skip where all were skipped.
	Result Result `json:"result"`
	Counts Counts `json:"counts"`
}

// areasOf counts the checks of each section, which stand in its order.
func areasOf(checks []Check) []Area {
	areas := []Area{}
	for _, c := range checks {
		if n := len(areas); n == 0 || areas[n-1].Section != c.Section {
			areas = append(areas, Area{Section: c.Section})
		}
		areas[len(areas)-1].Counts.add(c.Result)
	}
	for i, a := range areas {
		areas[i].Result = a.Counts.worst()
	}
	return areas
}

// Counts are the checks by result.
type Counts struct {
	OK   int `json:"ok"`
	Warn int `json:"warn"`
	Fail int `json:"fail"`
	Skip int `json:"skip"`
}

func (c *Counts) add(result Result) {
	switch result {
	case OK:
		c.OK++
	case Warn:
		c.Warn++
	case Fail:
		c.Fail++
	case Skip:
		c.Skip++
	}
}

func (c Counts) worst() Result {
	switch {
	case c.Fail > 0:
		return Fail
	case c.Warn > 0:
		return Warn
	case c.OK > 0:
		return OK
	}
	return Skip
}

// String renders the counts: "2 failed, 1 warning, 3 ok, 1 skipped".
func (c Counts) String() string {
	var parts []string
	for _, part := range []struct {
		count int
		text  string
	}{{c.Fail, fmt.Sprintf("%d failed", c.Fail)}, {c.Warn, plural(c.Warn, "warning")}, {c.OK, fmt.Sprintf("%d ok", c.OK)}, {c.Skip, fmt.Sprintf("%d skipped", c.Skip)}} {
		if part.count > 0 {
			parts = append(parts, part.text)
		}
	}
	return strings.Join(parts, ", ")
}

// summary is one sentence: "All 12 checks passed, 1 warning, 2 skipped."
func (c Counts) summary() string {
	done := c.OK + c.Warn + c.Fail
	sentence := fmt.Sprintf("All %s passed", plural(done, "check"))
	switch {
	case c.Fail > 0:
		sentence = fmt.Sprintf("%d of %s failed", c.Fail, plural(done, "check"))
	case done == 1:
		sentence = "The check passed"
	case done == 0:
		sentence = "Nothing was checked"
	}
	if c.Warn > 0 {
		sentence += ", " + plural(c.Warn, "warning")
	}
	if c.Skip > 0 {
		sentence += fmt.Sprintf(", %d skipped", c.Skip)
	}
	return sentence + "."
}
