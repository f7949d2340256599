package terminal

import (
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// byFaultText is the turned matrix for a terminal: a heading for each fault, a
// line for each lock under it.
func byFaultText(rows []reports.FaultRuns, width int, color bool) string {
	name := 0
	for _, r := range rows {
		for _, run := range r.Runs {
			name = max(name, phrase.Columns(runLabel(run)))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		head := r.Fault
		if color {
			head = ansiBold + head + ansiReset
		}
		b.WriteString(head + "\n")
		for _, run := range r.Runs {
			result := run.Result.Mark() + " " + run.Result.String()
			if run.Unexpected {
				result += " UNEXPECTED"
			}
			detail := run.Detail
			if width > 0 {
				detail = phrase.Cut(detail, max(width-name-phrase.Columns(result)-8, 12))
			}
			padded := phrase.Pad(result, 14)
			if color {
				padded = resultANSI[run.Result] + result + ansiReset + padded[len(result):]
				detail = ansiDim + detail + ansiReset
			}
			b.WriteString(strings.TrimRight("  "+phrase.Pad(runLabel(run), name)+"  "+padded+"  "+phrase.OneLine(detail),
				" ") + "\n")
		}
	}
	return b.String()
}

// runLabel names a run beneath the heading of its fault.
func runLabel(run reports.CellRun) string {
	text := phrase.OneLine(run.Lock)
	if run.Store != "unfenced" {
		text += ", " + phrase.OneLine(run.Store)
	}
	if run.Variant != "" {
		text += " (" + phrase.OneLine(run.Variant) + ")"
	}
	return text
}
