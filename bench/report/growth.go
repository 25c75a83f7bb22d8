package main

import (
	"fmt"
	"math"
	"strings"
)

// linear is the exponent up to which a curve counts as not worse than linear:
// a logarithm, or caches that no longer hold everything, lie below.
const linear = 1.1

// exponent is the k of the power law c*n^k that fits best, both axes logarithmic.
// It is 0 when there are fewer than two points.
func (c curve) exponent() float64 {
	var n, sx, sy, sxx, sxy float64
	for _, p := range c.points {
		if p.n <= 0 || p.value <= 0 {
			continue
		}
		x, y := math.Log(p.n), math.Log(p.value)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n < 2 {
		return 0
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// steepest is the exponent between the last two points: where a constant part
// hides the growth, it shows first.
func (c curve) steepest() float64 {
	if len(c.points) < 2 {
		return 0
	}
	return curve{points: c.points[len(c.points)-2:]}.exponent()
}

func (c curve) show(value float64) string {
	switch c.unit {
	case "ns":
		return duration(value)
	case "B":
		return size(value)
	}
	return strings.TrimSpace(short(value) + " " + c.unit)
}

const growthIntro = `## Growth

Each quantity over N, with the exponent *k* of the power law N^k that fits all points, and that of the last step alone, where a constant part no longer hides it. 1 is linear, 0 is constant.

| quantity | values | k | last step |
|---|---|---:|---:|
`

// growth is the section made of the curves of all others.
func growth(curves []curve) string {
	if len(curves) == 0 {
		return ""
	}
	var b, remarks strings.Builder
	b.WriteString(growthIntro)
	for _, c := range curves {
		if len(c.points) < 2 {
			continue
		}
		var values []string
		for _, p := range c.points {
			values = append(values, fmt.Sprintf("%s: %s", number(p.n), c.show(p.value)))
		}
		mark := ""
		if c.exponent() > linear || c.steepest() > linear {
			mark = " ⚠"
			fmt.Fprintf(&remarks, "- %s: %s\n", c.quantity, orElse(c.remark, "worse than linear, and not explained yet."))
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f | %.2f%s |\n", c.quantity, strings.Join(values, ", "), c.exponent(), c.steepest(), mark)
	}
	if remarks.Len() > 0 {
		fmt.Fprintf(&b, "\nWorse than linear (k above %.1f):\n\n%s", linear, remarks.String())
	}
	return b.String()
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
