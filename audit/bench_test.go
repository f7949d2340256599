package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/audit"
)

// BenchmarkAudit reads and judges a log of grants by ever new clients, a third of which are never given up.
func BenchmarkAudit(b *testing.B) {
	const grants = 20_000
	var log strings.Builder
	log.WriteString("ts,pod,action,resource,fence\n")
	for i := range grants {
		t := 1_763_107_200_000 + 2*i
		fmt.Fprintf(&log, "%d,r%d,acquired,k%d,%d\n%d,r%d,write,k%d,%d\n", t, i, i%50, i+1, t+3, i, i%50, i+1)
		if i%3 > 0 {
			fmt.Fprintf(&log, "%d,r%d,released,k%d,%d\n", t+5, i, i%50, i+1)
		}
	}
	text := log.String()
	lines := strings.Count(text, "\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		judgeText(b, text, "a.csv", audit.CSV, audit.Options{})
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
