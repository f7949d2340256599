package story

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/reports"
)

// aSection is the name of a section of a page, which a history may tell of.
var aSection = lazyregexp.New(`^[a-z-]+$`)

// FaultDoc points at what the documentation says of a fault; "" for one that it does not know.
func FaultDoc(r *reports.Record, of checker.FaultStats) string {
	planned := history.PlannedFault{Kind: of.Kind}
	if r != nil && of.Plan > 0 && of.Plan <= len(r.History.Header.Faults) {
		planned = r.History.Header.Faults[of.Plan-1]
	}
	section := planned.Section()
	if !aSection().MatchString(section) {
		return ""
	}
	return OnTheWeb + "faults.md#" + section
}
