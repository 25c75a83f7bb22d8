package main

// sections are the questions of the report in the order of the page.
func sections() []section {
	return []section{
		{name: "endtoend", measure: measureTests("./endtoend", "."), present: presentEndToEnd},
		{name: "views", measure: measureTests("./views", "^TestMeasure$"), present: presentViews},
		{name: "xds", measure: measureTests("./views", "^TestXDS$"), present: presentXDS},
		{name: "targets", measure: measureTests("./targets", "^TestMeasure$"), present: presentTargets},
		{name: "carriers", measure: measureTests("./targets", "^TestCarriers$"), present: presentCarriers},
		{name: "probing", measure: measureProbing, present: presentProbing},
		{name: "size", measure: measureSize, present: presentSize},
		{name: "plan", measure: measurePlan, present: presentPlan},
	}
}
