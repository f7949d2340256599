package story

import (
	"fmt"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Caption says what the witness is, and how to judge it.
func Caption(w *reports.Witness) Prose {
	what := "The smallest witness"
	if !w.Minimal {
		what = "A small witness"
	}
	p := Prose{}.b(what).t(fmt.Sprintf(": %s of %s are enough to show this violation. ", phrase.Grouped(w.Ops),
		phrase.Plural(w.Of, "op"))).code(w.File)
	if w.Recheck == "" {
		return p.t(" holds them, as a history of its own.")
	}
	return p.t(" holds them, as a history of its own, and ").code(phrase.Clip(w.Recheck,
		phrase.MostText)).t(" finds the violation in it.")
}
