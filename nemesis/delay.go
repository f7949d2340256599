package nemesis

import (
	"math"
	"math/rand/v2"
	"time"
)

// shortestDelay is the least time after which a fault strikes into a call: less
// than the fastest service needs to answer.
const shortestDelay = 20 * time.Microsecond

// Delay draws how long after the call was sent a fault strikes it, at most longest.
// Each order of magnitude is as likely as any other: whether a call takes a fraction
// of a millisecond or waits for seconds, some strikes fall into its decisive instant.
func Delay(rng *rand.Rand, longest time.Duration) time.Duration {
	if longest <= shortestDelay {
		return longest
	}
	return time.Duration(float64(shortestDelay) * math.Pow(float64(longest)/float64(shortestDelay), rng.Float64()))
}
