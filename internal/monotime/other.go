//go:build !unix && !wasip1

package monotime

import "time"

var began = time.Now()

// Now returns nanoseconds of Go's monotonic clock since the program began, less 1 s: 0 is no stamp.
// The clock is of one process: there are no stamps of others to compare with on such a system.
func Now() int64 { return int64(time.Since(began) + time.Second) }

// Since returns the time that has passed since a stamp of Now.
func Since(stamp int64) time.Duration { return time.Duration(Now() - stamp) }
