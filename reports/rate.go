package reports

import (
	"fmt"
	"math"
)

// Rate is how often something was seen, of so many times at which it could be.
type Rate struct {
	Hits int `json:"hits"`
	Of   int `json:"of"`
}

// z95 is the quantile of the normal distribution that leaves 2.5 % on either side.
const z95 = 1.959963984540054

// Share is the share that was seen; not a number where nothing was tried.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return math.NaN()
	}
	return float64(r.Hits) / float64(r.Of)
}

// Interval is Wilson's score interval at 95 % (Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 22, 1927): the true rates
// under which what was seen would not surprise. Unlike the usual interval around the share it is right for few trials, and for none or all of them. Where
// nothing was tried, it is everything.
func (r Rate) Interval() (low, high float64) {
	if r.Of == 0 {
		return 0, 1
	}
	n, p := float64(r.Of), r.Share()
	middle := p + z95*z95/(2*n)
	width := z95 * math.Sqrt(p*(1-p)/n+z95*z95/(4*n*n))
	whole := 1 + z95*z95/n
	low, high = max(0, (middle-width)/whole), min(1, (middle+width)/whole)
	if r.Hits == 0 {
		low = 0 // not the rounding of it
	}
	if r.Hits == r.Of {
		high = 1
	}
	return low, high
}

// String tells the share, out of how many.
func (r Rate) String() string {
	if r.Of == 0 {
		return "nothing judged"
	}
	return fmt.Sprintf("%s of %d", percent(r.Share()), r.Of)
}

// Between tells the interval.
func (r Rate) Between() string {
	low, high := r.Interval()
	return percent(low) + " to " + percent(high)
}

// percent writes a share; what is not all or nothing is never rounded to it.
func percent(share float64) string {
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
