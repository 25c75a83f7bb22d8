package traffic

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// The picture's measures in pixels.
const (
	pictureWidth, plotHeight = 860.0, 120.0
	plotLeft, plotTop        = 44.0, 14.0
	plotWidth                = pictureWidth - plotLeft - 10
	// labelHeight is that of one line of events, of which there are at most labels:
	// what is too close to another goes a line down.
	labelHeight, labels = 13.0, 4
	// stripHeight is that of one series, its name included.
	stripHeight = 64.0
)

// Picture draws the requests over time as SVG: answered ones, lost ones on top of
// them, and a line for each event.
func (f Figures) Picture() string {
	seconds := float64(max(len(f.Buckets), 1)) * max(f.Width, shortest).Seconds()
	highest := 1
	for _, b := range f.Buckets {
		highest = max(highest, b.OK+b.Lost)
	}
	x := func(at float64) float64 { return plotLeft + min(max(at/seconds, 0), 1)*plotWidth }
	var s strings.Builder
	foot := plotTop + plotHeight + 26 + labels*labelHeight
	height := foot + float64(len(f.Series))*stripHeight
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="10" role="img">`+"\n", pictureWidth, height)
	fmt.Fprintf(&s, "<title>%s: requests in %v, answered and lost</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", html.EscapeString(f.Scenario), max(f.Width, shortest))
	s.WriteString(area(f.Buckets, highest, func(b Bucket) (from, to int) { return 0, b.OK }, "#8fbf9f"))
	s.WriteString(area(f.Buckets, highest, func(b Bucket) (from, to int) { return b.OK, b.OK + b.Lost }, "#c0392b"))
	fmt.Fprintf(&s, `<path d="M%.1f %.1fv%.1fh%.1f" fill="none" stroke="#444"/>`+"\n", plotLeft, plotTop, plotHeight, plotWidth)
	fmt.Fprintf(&s, `<text x="%.1f" y="%.1f" text-anchor="end">%d</text>`+"\n", plotLeft-4, plotTop+8, highest)
	fmt.Fprintf(&s, `<text x="%.1f" y="%.1f" text-anchor="end">0</text>`+"\n", plotLeft-4, plotTop+plotHeight)
	for i := range 5 {
		at := seconds * float64(i) / 4
		fmt.Fprintf(&s, `<text x="%.1f" y="%.1f" text-anchor="middle">%.0f s</text>`+"\n", x(at), plotTop+plotHeight+13, at)
	}
	s.WriteString(f.events(x))
	for i, one := range f.Series {
		s.WriteString(one.strip(foot + float64(i)*stripHeight))
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// area fills, for every bucket, what lies between two heights.
func area(buckets []Bucket, highest int, span func(Bucket) (from, to int), colour string) string {
	if len(buckets) == 0 {
		return ""
	}
	step, unit := plotWidth/float64(len(buckets)), plotHeight/float64(highest)
	var d strings.Builder
	for i := 0; i < len(buckets); {
		from, to := span(buckets[i])
		next := i + 1
		for next < len(buckets) && buckets[next] == buckets[i] {
			next++
		}
		if to > from {
			fmt.Fprintf(&d, "M%.1f %.1fh%.1fv%.1fh%.1fz", plotLeft+float64(i)*step, plotTop+plotHeight-float64(to)*unit,
				float64(next-i)*step+0.1, float64(to-from)*unit, -float64(next-i)*step-0.1)
		}
		i = next
	}
	return fmt.Sprintf(`<path d="%s" fill="%s"/>`+"\n", d.String(), colour)
}

// events draws a line for each event. Its text stands below, in the first line
// that has room; without room it is left out.
func (f Figures) events(x func(float64) float64) string {
	var s strings.Builder
	var ends [labels]float64
	for _, e := range f.Events {
		at := x(e.At)
		fmt.Fprintf(&s, `<path d="M%.1f %.1fv%.1f" stroke="#2c5aa0" stroke-dasharray="2 2"/>`+"\n", at, plotTop, plotHeight)
		for line := range ends {
			if ends[line] <= at {
				fmt.Fprintf(&s, `<text x="%.1f" y="%.1f" fill="#2c5aa0">%s</text>`+"\n",
					at, plotTop+plotHeight+26+float64(line)*labelHeight, html.EscapeString(e.Text))
				ends[line] = at + 5.4*float64(len(e.Text)) + 6
				break
			}
		}
	}
	return s.String()
}

// strip draws a series from 0 to its highest value.
func (one Series) strip(top float64) string {
	const plot = stripHeight - 22
	highest := slices.Max(append([]float64{1e-9}, one.Values...))
	var d strings.Builder
	for i, v := range one.Values {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", command, plotLeft+plotWidth*float64(i)/float64(max(len(one.Values)-1, 1)), top+16+plot*(1-v/highest))
	}
	return fmt.Sprintf(`<text x="%.1f" y="%.1f">%s, at most %.4g %s</text><path d="M%.1f %.1fh%.1f" stroke="#444"/><path d="%s" fill="none" stroke="#2c5aa0"/>`+"\n",
		plotLeft, top+10, html.EscapeString(one.Name), highest, html.EscapeString(one.Unit), plotLeft, top+16+plot, plotWidth, d.String())
}
