package report_test

import (
	"fmt"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// BenchmarkManyTargets makes each answer about 1,000 targets of 100 endpoints: of one
// group, and of ten.
func BenchmarkManyTargets(b *testing.B) {
	for _, pools := range []int{1, 10} {
		p := newPlatform(b)
		for i := range pools {
			p.pool(fmt.Sprintf("pool-%d", i), newWorld(100).publish().assess(b))
		}
		for i := range 1000 {
			p.target("shop", fmt.Sprintf("web-%03d", i), fmt.Sprintf("pool-%d", i%pools))
		}
		p.inAPI()
		for name, answer := range map[string]func(){
			"list": func() { p.Services(report.Query{}) },
			"statuses": func() {
				all, _ := p.Statuses()
				all(func(report.ObjectStatus) bool { return true })
			},
			"target":  func() { p.one("shop", "web-500") },
			"explain": func() { p.Explain(ip(7).String(), report.Query{Limit: report.MaxLimit}) },
		} {
			b.Run(fmt.Sprintf("%s/groups=%d", name, pools), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					answer()
				}
			})
		}
	}
}
