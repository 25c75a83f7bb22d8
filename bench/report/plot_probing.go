package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// chance is the coefficient of variation over the parts of a round when each of n
// starts falls anywhere.
func chance(n int) float64 { return math.Sqrt(probing.Bins / float64(n)) }

// probingPoints are a quantity of a side over the number of backends, where
// nothing is slow.
func probingPoints(r results, side probing.Side, mode probing.Mode, unit string) []point {
	var points []point
	for _, n := range probed.sizes {
		if name := probing.Name(side, mode, n, probing.Nothing); r.has(name) {
			points = append(points, point{float64(n), r.least(name, unit)})
		}
	}
	return points
}

func probingPlots(r results) map[string]string {
	var lines []series
	for _, l := range []struct {
		side probing.Side
		mode probing.Mode
	}{
		{probing.Daemon, probing.HTTP}, {probing.Blackbox, probing.HTTP}, {probing.Plain, probing.HTTP},
		{probing.Daemon, probing.TCP}, {probing.Blackbox, probing.TCP},
	} {
		points := probingPoints(r, l.side, l.mode, "cores")
		name := fmt.Sprintf("%s, %s (N^%.2f)", l.side, l.mode, curve{points: points}.exponent())
		lines = append(lines, series{name, points})
	}
	return map[string]string{
		"probing-cpu.svg":    chart("cores to check every 2 s, by backends", func(v float64) string { return fmt.Sprint(v) }, lines...),
		"probing-spread.svg": plotSpread(r),
	}
}

// plotSpread draws how many checks start in each part of a round, for each size,
// relative to the average.
func plotSpread(r results) string {
	const left, width, height, step = 140, 480, 70, 105
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 %d" width="660">%s<text class="t" x="20" y="20">starts of HTTP checks by the daemon in 20 parts of a round; the line is the average</text>`,
		50+step*len(probed.sizes), style)
	for i, n := range probed.sizes {
		name := probing.Name(probing.Daemon, probing.HTTP, n, probing.Nothing)
		average, base := float64(n)/probing.Bins, 50+step*i+height
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s backends</text>`, left-8, base-height/2, number(float64(n)))
		for bin := range probing.Bins {
			// Twice the average fills the height.
			tall := min(float64(height), r.least(name, fmt.Sprintf("bin%02d", bin))/average*height/2)
			fmt.Fprintf(&b, `<rect x="%d" y="%.1f" width="%d" height="%.1f" fill="%s"/>`,
				left+bin*width/probing.Bins, float64(base)-tall, width/probing.Bins-2, tall, colours()[0])
		}
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s"/>`, left, left+width, base-height/2, base-height/2, colours()[1])
	}
	return b.String() + "</svg>\n"
}
