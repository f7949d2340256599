//go:build !race

package checker

// raceEnabled reports whether this program was built with the race detector.
const raceEnabled = false
