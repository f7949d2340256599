package reports

import (
	"regexp"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// aSection is the name of a section of a page, which a history may tell of.
var aSection = regexp.MustCompile(`^[a-z-]+$`)

// faultDoc points at what the documentation says of a fault; "" for one that it does not know.
func (r *record) faultDoc(of checker.FaultStats) string {
	planned := history.PlannedFault{Kind: of.Kind}
	if r != nil && of.Plan > 0 && of.Plan <= len(r.h.Header.Faults) {
		planned = r.h.Header.Faults[of.Plan-1]
	}
	section := planned.Section()
	if !aSection.MatchString(section) {
		return ""
	}
	return onTheWeb + "faults.md#" + section
}
