package reports

import (
	"fmt"
	"math"

	"github.com/lockchaos/lockchaos/checker"
)

// Rate is how often something was seen, of so many times at which it could be.
type Rate struct {
	Hits int `json:"hits"`
	Of   int `json:"of"`
}

// Share is the share that was seen; not a number where nothing was tried.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return math.NaN()
	}
	return float64(r.Hits) / float64(r.Of)
}

// Interval is Wilson's score interval at 95 % (checker.Wilson): the true rates under
// which what was seen would not surprise. Where nothing was tried, it is everything.
func (r Rate) Interval() (low, high float64) { return checker.Wilson(int64(r.Hits), int64(r.Of)) }

// String tells the share, out of how many.
func (r Rate) String() string {
	if r.Of == 0 {
		return "nothing judged"
	}
	return fmt.Sprintf("%s of %d", Percent(r.Share()), r.Of)
}

// Between tells the interval.
func (r Rate) Between() string {
	low, high := r.Interval()
	return Percent(low) + " to " + Percent(high)
}

// Percent writes a share; what is not all or nothing is never rounded to it.
func Percent(share float64) string {
	switch p := 100 * share; {
	case math.IsNaN(p):
		return "–"
	case p > 0 && p < 1:
		return "< 1 %"
	case p > 99 && p < 100:
		return "> 99 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}
