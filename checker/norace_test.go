//go:build !race

package checker

// raceEnabled tells whether this program was built with the race detector.
const raceEnabled = false
