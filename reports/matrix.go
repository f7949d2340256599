package reports

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/reports/phrase"
)

// MatrixRow is one lock on one kind of store.
type MatrixRow struct {
	Lock, Service, Store string
	First, More          bool // the first row of its lock, and not the last
	Cells                []MatrixCell
}

// MatrixCell holds the scenarios of one lock, store and fault; most often one, or none.
type MatrixCell struct {
	Fault string
	Runs  []CellRun
}

// CellRun is one scenario in its cell.
type CellRun struct {
	Of                    Scenario
	Name, Variant, Detail string
	// known where the run stands under its fault, and not in a row of its lock
	Lock, Store string
	Result      Result
	Unexpected  bool
	Want        string
}

// Matrix orders the scenarios: a row for every lock and store, a column for every fault,
// both as the suite first names them, but no fault first and the rows of a lock together.
func Matrix(s Suite) (columns []string, rows []MatrixRow) {
	for _, x := range s.Scenarios {
		if !slices.Contains(columns, x.Fault) {
			columns = append(columns, x.Fault)
		}
	}
	slices.SortStableFunc(columns, func(a, b string) int { return quietFirst(a) - quietFirst(b) })
	var locks []string
	for _, x := range s.Scenarios {
		if !slices.Contains(locks, x.Lock) {
			locks = append(locks, x.Lock)
		}
	}
	for _, lock := range locks {
		kinds := stores(s, lock)
		for i, store := range kinds {
			row := MatrixRow{Lock: phrase.Clip(lock, phrase.MostName), Store: phrase.Clip(store, phrase.MostName),
				First: i == 0, More: i+1 < len(kinds)}
			for _, fault := range columns {
				row.Cells = append(row.Cells, cell(s, lock, store, fault))
			}
			for _, x := range s.Scenarios {
				if x.Lock == lock && x.Service != "" {
					row.Service = phrase.Clip(x.Service, phrase.MostName)
				}
			}
			rows = append(rows, row)
		}
	}
	return columns, rows
}

func quietFirst(fault string) int {
	if IsQuiet(fault) {
		return 0
	}
	return 1
}

// stores lists the kinds of store that a lock was run on, the unfenced first.
func stores(s Suite, lock string) []string {
	var out []string
	for _, x := range s.Scenarios {
		if x.Lock == lock && !slices.Contains(out, x.Store) {
			out = append(out, x.Store)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(b, a) })
	return out
}

func cell(s Suite, lock, store, fault string) MatrixCell {
	c := MatrixCell{Fault: phrase.FaultTitle(fault)}
	for _, x := range s.Scenarios {
		if x.Lock != lock || x.Store != store || x.Fault != fault {
			continue
		}
		run := CellRun{Of: x, Name: phrase.Clip(x.Name, phrase.MostName), Detail: x.Detail(), Result: x.Result(),
			Unexpected: x.Unexpected()}
		if missed := x.Unmet(); run.Unexpected && len(missed) > 0 {
			run.Want = missed[0].Names + ": want " + missed[0].Want
		}
		if v := variant(x); len(c.Runs) > 0 || v != "" && len(strings.Split(x.Name, "/")) > 3 {
			run.Variant = phrase.Clip(v, phrase.MostName)
		}
		c.Runs = append(c.Runs, run)
	}
	return c
}
