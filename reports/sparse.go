package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
)

// A suite that tries each lock under a few of many faults makes a matrix of little but gaps. Such a suite is shown by fault: under each the locks that were tried.
const (
	denseColumns = 8 // a matrix of no more columns is always one
	denseShare   = 3 // and one of more columns if a scenario stands in a third of its cells
)

// sparse tells whether the matrix would be mostly gaps.
func sparse(columns []string, rows []matrixRow) bool {
	cells, filled := 0, 0
	for _, r := range rows {
		for _, c := range r.Cells {
			cells++
			if len(c.Runs) > 0 {
				filled++
			}
		}
	}
	return len(columns) > denseColumns && filled*denseShare < cells
}

// faultShelf is one fault with the locks that were tried under it.
type faultShelf struct {
	Fault string
	Runs  []cellRun
}

// byFault turns the matrix: each fault with its scenarios, in the order of the locks.
func byFault(columns []string, rows []matrixRow) []faultShelf {
	out := make([]faultShelf, len(columns))
	for i, c := range columns {
		out[i].Fault = faultTitle(c)
		for _, row := range rows {
			for _, run := range row.Cells[i].Runs {
				run.Lock, run.Store = row.Lock, row.Store
				out[i].Runs = append(out[i].Runs, run)
			}
		}
	}
	return out
}

// sparseSentence sums a sparse suite up: a sentence for each fault would be a list, and the list stands below.
func sparseSentence(all []Scenario) string {
	var faults []string
	judged, held, corrupted := 0, 0, 0
	for _, x := range all {
		if x.quiet() || !x.judged() {
			continue
		}
		if !slices.Contains(faults, x.Fault) {
			faults = append(faults, x.Fault)
		}
		judged++
		if x.violated(checker.MutualExclusion) {
			held++
		}
		if x.Result() == Corrupted {
			corrupted++
		}
	}
	if judged == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, each aimed at locks that should stand it or fall by it: ", plural(len(faults), "kind")+" of disturbance")
	switch held {
	case 0:
		text += "none of " + grouped(judged) + " disturbed runs let two clients in at once"
	case judged:
		text += "all " + grouped(judged) + " disturbed runs let two clients in at once"
	default:
		text += grouped(held) + " of " + grouped(judged) + " disturbed runs let two clients in at once"
	}
	if corrupted > 0 {
		text += ", and " + grouped(corrupted) + " left corrupted data"
	}
	return text + "."
}

// sparseText is the turned matrix for a terminal: a heading for each fault, a line for each lock under it.
func sparseText(rows []faultShelf, width int, color bool) string {
	name := 0
	for _, r := range rows {
		for _, run := range r.Runs {
			name = max(name, columns(under(run)))
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
				detail = cut(detail, max(width-name-columns(result)-8, 12))
			}
			padded := pad(result, 14)
			if color {
				padded = resultANSI[run.Result] + result + ansiReset + padded[len(result):]
				detail = ansiDim + detail + ansiReset
			}
			b.WriteString(strings.TrimRight("  "+pad(under(run), name)+"  "+padded+"  "+oneLine(detail), " ") + "\n")
		}
	}
	return b.String()
}

// under names a run beneath the heading of its fault.
func under(run cellRun) string {
	text := oneLine(run.Lock)
	if run.Store != "unfenced" {
		text += ", " + oneLine(run.Store)
	}
	if run.Variant != "" {
		text += " (" + oneLine(run.Variant) + ")"
	}
	return text
}
