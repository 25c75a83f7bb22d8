package main

// sections are the questions of the report in the order of the page.
func sections() []section {
	return []section{
		{name: "endtoend", measure: measureEndToEnd, present: presentEndToEnd},
		{name: "probing", measure: measureProbing, present: presentProbing},
		{name: "size", measure: measureSize, present: presentSize},
		{name: "plan", measure: measurePlan, present: presentPlan},
	}
}
