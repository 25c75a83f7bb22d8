package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// style keeps the plots readable on light and dark pages.
const style = `<style>text{font:12px sans-serif;fill:#333}.t{font-weight:bold}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>`

// colours can be distinguished also by people with colour blindness.
func colours() []string { return []string{"#0072b2", "#d55e00", "#999999", "#009e73", "#cc79a7"} }

// series is a named line of a chart.
type series struct {
	name   string
	points []point
}

// chart draws lines over N, both axes logarithmic. show writes a value of the
// vertical axis.
func chart(title string, show func(float64) string, lines ...series) string {
	const left, top, width, height = 70, 40, 460, 260
	fewest, most, low, high := bounds(lines)
	if high <= low || most <= fewest {
		return ""
	}
	x := func(n float64) float64 { return left + width*(math.Log(n/fewest))/math.Log(most/fewest) }
	y := func(v float64) float64 { return top + height*(1-math.Log(v/low)/math.Log(high/low)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 350" width="660">%s<text class="t" x="%d" y="20">%s</text>`, style, left, html.EscapeString(title))
	for at := low; at <= high*1.001; at *= 10 {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.0f" y2="%.0f" stroke="#8884"/><text x="%d" y="%.0f" text-anchor="end">%s</text>`,
			left, left+width, y(at), y(at), left-6, y(at)+4, html.EscapeString(show(at)))
	}
	named := map[float64]bool{}
	last := map[int]bool{} // heights that hold a name already, in steps of a line
	for i, l := range lines {
		var points []string
		for _, p := range l.points {
			if p.value <= 0 {
				continue
			}
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(p.n), y(p.value)))
			if !named[p.n] {
				named[p.n] = true
				fmt.Fprintf(&b, `<text x="%.0f" y="%d" text-anchor="middle">%s</text>`, x(p.n), top+height+20, number(p.n))
			}
		}
		if len(points) == 0 {
			continue
		}
		end := l.points[len(l.points)-1]
		at := int(y(max(end.value, low)) / 13)
		for last[at] {
			at++
		}
		last[at] = true
		fmt.Fprintf(&b, `<polyline points="%[1]s" fill="none" stroke="%[2]s" stroke-width="2"/><text x="%[3]d" y="%[4]d" style="fill:%[2]s">%[5]s</text>`,
			strings.Join(points, " "), colours()[i%len(colours())], left+width+6, at*13+10, html.EscapeString(l.name))
	}
	return b.String() + "</svg>\n"
}

// bounds are of all points; those of the values are powers of ten.
func bounds(lines []series) (fewest, most, low, high float64) {
	fewest, low = math.Inf(1), math.Inf(1)
	for _, l := range lines {
		for _, p := range l.points {
			if p.value <= 0 {
				continue
			}
			fewest, most = min(fewest, p.n), max(most, p.n)
			low, high = min(low, p.value), max(high, p.value)
		}
	}
	return fewest, most, math.Pow10(int(math.Floor(math.Log10(low)))), math.Pow10(int(math.Ceil(math.Log10(high))))
}
