package story

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// byFaultSentence sums a sparse suite up: a sentence for each fault would be a
// list, and the list stands below.
func byFaultSentence(all []reports.Scenario) string {
	var faults []string
	judged, held, corrupted := 0, 0, 0
	for _, x := range all {
		if undisturbed(x) || !x.Judged() {
			continue
		}
		if !slices.Contains(faults, x.Fault) {
			faults = append(faults, x.Fault)
		}
		judged++
		if x.Violated(checker.MutualExclusion) {
			held++
		}
		if x.Result() == reports.Corrupted {
			corrupted++
		}
	}
	if judged == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, each aimed at locks that should stand it or fall by it: ",
		phrase.Plural(len(faults), "kind")+" of disturbance")
	switch held {
	case 0:
		text += "none of " + phrase.Grouped(judged) + " disturbed runs let two clients in at once"
	case judged:
		text += "all " + phrase.Grouped(judged) + " disturbed runs let two clients in at once"
	default:
		text += phrase.Grouped(held) + " of " + phrase.Grouped(judged) + " disturbed runs let two clients in at once"
	}
	if corrupted > 0 {
		text += ", and " + phrase.Grouped(corrupted) + " left corrupted data"
	}
	return text + "."
}
