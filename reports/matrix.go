package reports

import (
	"slices"
	"strings"
)

// matrixRow is one lock on one kind of store.
type matrixRow struct {
	Lock, Service, Store string
	First, More          bool // the first row of its lock, and not the last
	Cells                []matrixCell
}

// matrixCell holds the scenarios of one lock, store and fault; most often one, or none.
type matrixCell struct {
	Fault string
	Runs  []cellRun
}

// cellRun is one scenario in its cell.
type cellRun struct {
	Of                    Scenario
	Name, Variant, Detail string
	Lock, Store           string // known where the run stands under its fault, and not in a row of its lock
	Result                Result
	Unexpected            bool
	Want                  string
}

// matrix orders the scenarios: a row for every lock and store, a column for every fault, both as the suite first names them,
// but no fault first and the rows of a lock together.
func matrix(s Suite) (columns []string, rows []matrixRow) {
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
			row := matrixRow{Lock: clip(lock, clipName), Store: clip(store, clipName), First: i == 0, More: i+1 < len(kinds)}
			for _, fault := range columns {
				row.Cells = append(row.Cells, cell(s, lock, store, fault))
			}
			for _, x := range s.Scenarios {
				if x.Lock == lock && x.Service != "" {
					row.Service = clip(x.Service, clipName)
				}
			}
			rows = append(rows, row)
		}
	}
	return columns, rows
}

func quietFirst(fault string) int {
	if isQuiet(fault) {
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

func cell(s Suite, lock, store, fault string) matrixCell {
	c := matrixCell{Fault: faultTitle(fault)}
	for _, x := range s.Scenarios {
		if x.Lock != lock || x.Store != store || x.Fault != fault {
			continue
		}
		run := cellRun{Of: x, Name: clip(x.Name, clipName), Detail: x.Detail(), Result: x.Result(), Unexpected: x.unexpected()}
		if missed := x.unmet(); run.Unexpected && len(missed) > 0 {
			run.Want = missed[0].Names + ": want " + missed[0].Want
		}
		if v := variant(x); len(c.Runs) > 0 || v != "" && len(strings.Split(x.Name, "/")) > 3 {
			run.Variant = clip(v, clipName)
		}
		c.Runs = append(c.Runs, run)
	}
	return c
}
