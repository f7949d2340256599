package reports

import "github.com/lockchaos/lockchaos/reports/phrase"

// A suite that tries each lock under a few of many faults makes a matrix of little
// but gaps. Such a suite is shown by fault: under each the locks that were tried.
const (
	denseColumns = 8 // a matrix of no more columns is always one
	denseShare   = 3 // and one of more columns if a scenario stands in a third of its cells
)

// MostlyGaps reports whether the matrix would be mostly gaps.
func MostlyGaps(columns []string, rows []MatrixRow) bool {
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

// FaultRuns is one fault with the locks that were tried under it.
type FaultRuns struct {
	Fault string
	Runs  []CellRun
}

// ByFault turns the matrix: each fault with its scenarios, in the order of the locks.
func ByFault(columns []string, rows []MatrixRow) []FaultRuns {
	out := make([]FaultRuns, len(columns))
	for i, c := range columns {
		out[i].Fault = phrase.FaultTitle(c)
		for _, row := range rows {
			for _, run := range row.Cells[i].Runs {
				run.Lock, run.Store = row.Lock, row.Store
				out[i].Runs = append(out[i].Runs, run)
			}
		}
	}
	return out
}
