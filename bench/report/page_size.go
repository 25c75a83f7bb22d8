package main

import (
	"fmt"
	"slices"
	"strings"
)

const sizeIntro = `## Size

The program for linux/amd64, stripped, as the image has it. The image adds the program to ` + "`gcr.io/distroless/static-debian13`" + ` and nothing else (a test asserts that): certificates of authorities, time zones and a passwd file, about 2 MB by its publisher's account; it is not downloaded here.

%s| part | bytes | share |
|---|---:|---:|
`

// mostParts is how many dependencies have a row of their own.
const mostParts = 15

func presentSize(r results) part {
	var b strings.Builder
	fmt.Fprintf(&b, sizeIntro, r.measuredOn())
	all := r.least("Binary/of=all", "B")
	var parts []point // index and bytes
	var names []string
	for name := range r.runs {
		if of, found := strings.CutPrefix(name, "Binary/of="); found && of != "all" {
			parts = append(parts, point{float64(len(names)), r.least(name, "B")})
			names = append(names, of)
		}
	}
	slices.SortFunc(parts, func(a, b point) int { return int(b.value - a.value) })
	others, count := 0.0, 0
	for i, p := range parts {
		if i >= mostParts {
			others, count = others+p.value, count+1
			continue
		}
		name := "`" + names[int(p.n)] + "`"
		switch names[int(p.n)] {
		case "std":
			name = "Go's runtime and standard library, and what is no package's own"
		case "tables":
			name = "types, constants, and the tables of functions and lines, of all of them"
		case "github.com/ablmnzde/ionoscloud-endpointslice-controller":
			name = "this project"
		}
		fmt.Fprintf(&b, "| %s | %s | %.1f %% |\n", name, size(p.value), 100*p.value/all)
	}
	fmt.Fprintf(&b, "| %d further modules | %s | %.1f %% |\n| **all** | **%s** | |\n", count, size(others), 100*others/all, size(all))
	var t rows
	t.add("binary, stripped, linux/amd64", "at most 35 MB", size(all), all <= 35e6, "")
	t.add("image", "at most 5 MB more than the binary", "the binary alone is added to a base of about 2 MB (its publisher's figure)", true, "")
	return part{prose: b.String(), targets: t.all}
}
