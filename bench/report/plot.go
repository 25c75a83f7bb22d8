package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The colours of the sides: told apart also by those who see no red or green.
const (
	upstreamColour = "#d55e00"
	planColour     = "#0072b2"
	guardColour    = "#999999"
)

// style keeps the plots readable on light and dark pages.
const style = `<style>text{font:12px sans-serif;fill:#333}.t{font-weight:bold}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>`

// plotTime draws the time of a pass without a change over the number of
// endpoints, both axes logarithmic.
func plotTime(r results) string {
	const left, top, width, height = 70, 40, 460, 260
	x := func(n int) float64 { return left + width*(math.Log10(float64(n))-1)/3 }
	y := func(ns float64) float64 { return top + height*(1-(math.Log10(ns)-2)/7) } // 100 ns to 1 s
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 350" width="640">%s<text class="t" x="%d" y="20">time of a pass without a change, by endpoints</text>`, style, left)
	for power := 2; power <= 9; power++ {
		at := y(math.Pow10(power))
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.0f" y2="%.0f" stroke="#8884"/><text x="%d" y="%.0f" text-anchor="end">%s</text>`,
			left, left+width, at, at, left-6, at+4, duration(math.Pow10(power)))
	}
	for _, n := range sizes() {
		fmt.Fprintf(&b, `<text x="%.0f" y="%d" text-anchor="middle">%s</text>`, x(n), top+height+20, number(float64(n)))
	}
	for i, colour := range []string{upstreamColour, planColour, guardColour} {
		var points []string
		last := 0.0
		for _, n := range sizes() {
			last = y(r[key{n, "none", impls()[i]}]["ns/op"])
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(n), last))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%d" y="%.0f">%s</text>`,
			strings.Join(points, " "), colour, left+width+6, last+4, impls()[i])
	}
	return b.String() + "</svg>\n"
}

func used(o outcome) (upstream, ours float64) {
	return float64(o.upstream.Used), float64(o.ours.Used)
}

func writtenThousands(o outcome) (upstream, ours float64) {
	return float64(o.upstream.Written) / 1_000, float64(o.ours.Written) / 1_000
}

// plotHistories draws a pair of bars for each history.
func plotHistories(title string, outcomes []outcome, value func(outcome) (upstream, ours float64)) string {
	const left, width, step = 290, 290, 44
	most := 0.0
	for _, o := range outcomes {
		upstream, ours := value(o)
		most = max(most, upstream, ours)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-60 0 700 %d" width="700">%s<text class="t" x="-50" y="20">%s: upstream above, plan below</text>`,
		40+step*len(outcomes), style, html.EscapeString(title))
	for i, o := range outcomes {
		top := 36 + step*i
		upstream, ours := value(o)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, top+20, html.EscapeString(o.history.Name))
		for j, v := range []float64{upstream, ours} {
			colour := []string{upstreamColour, planColour}[j]
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="14" fill="%s"/><text x="%.1f" y="%d">%s</text>`,
				left, top+16*j, width*v/most, colour, left+width*v/most+5, top+16*j+12, number(v))
		}
	}
	return b.String() + "</svg>\n"
}
