package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/audit"
	"github.com/lockchaos/lockchaos/audit/forms"
)

// BenchmarkAudit reads and judges a log of grants by ever new clients, a third of which are never given up.
func BenchmarkAudit(b *testing.B) {
	forms := []struct {
		format        forms.Format
		heading, line string
	}{
		{forms.CSV, "ts,pod,action,resource,fence\n", "%d,r%d,%s,k%d,%d\n"},
		{forms.JSON, "", `{"ts":%d,"level":"info","pod":"r%d","action":"%s","resource":"k%d","fence":%d}` + "\n"},
	}
	for _, form := range forms {
		b.Run(string(form.format), func(b *testing.B) {
			const grants = 100_000
			var log strings.Builder
			log.WriteString(form.heading)
			for i := range grants {
				t := 1_763_107_200_000 + 2*i
				fmt.Fprintf(&log, form.line, t, i, "acquired", i%50, i+1)
				fmt.Fprintf(&log, form.line, t+3, i, "write", i%50, i+1)
				if i%3 > 0 {
					fmt.Fprintf(&log, form.line, t+5, i, "released", i%50, i+1)
				}
			}
			text := log.String()
			lines := strings.Count(text, "\n")
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				judgeText(b, text, "a", form.format, audit.Options{})
			}
			b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
