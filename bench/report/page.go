package main

import (
	"fmt"
	"strings"
)

const intro = `# Performance

<!-- Written by make bench; edit bench/report instead. -->

What the daemon costs and how fast it is, beside others in the same run.

` + "```" + `
make bench                               # measure everything and write this page
LONG=1 make bench                        # the same for longer: steady states of ten minutes
cd bench && go run ./report -only plan   # measure one section anew
make test-bench                          # the exact targets, as tests
` + "```" + `

Each section keeps what it measured in a file beside this page, as ` + "`go test -bench`" + ` prints it: two runs are compared with ` + "`benchstat -ignore commit,load-before`" + `.

## Targets

| question | target | found | |
|---|---|---|---|
`

func page(parts []part) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, p := range parts {
		for _, t := range p.targets {
			result := "met"
			if !t.met {
				result = "**missed**"
				if t.reason != "" {
					result += ": " + t.reason
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.question, t.want, t.found, result)
		}
	}
	for _, p := range parts {
		b.WriteString("\n" + strings.TrimSpace(p.prose) + "\n")
	}
	return b.String()
}
