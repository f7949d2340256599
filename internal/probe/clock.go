package probe

import (
	"fmt"
	"time"
)

// clockTries is how often a server is asked for its time.
const clockTries = 5

// farClock is how wrong a clock may be before it is worth a word.
const farClock = time.Second

// clockFact says how far the server's clock is ahead, known to half a round trip.
func clockFact(offset, trip time.Duration) Fact {
	f := Fact{Name: "clock", Text: fmt.Sprintf("%+.1f ms against this machine's, give or take %.1f ms",
		float64(offset)/1e6, float64(trip)/2e6)}
	if offset.Abs() > farClock {
		f.Warning = "the clocks of the server and of this machine differ: a lock that compares their times goes wrong; set both by NTP"
	}
	return f
}
