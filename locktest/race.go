//go:build race

package locktest

// raceEnabled tells whether this program was built with the race detector.
const raceEnabled = true
