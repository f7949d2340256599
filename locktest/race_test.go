//go:build race

package locktest_test

// raceEnabled reports whether this program was built with the race detector.
const raceEnabled = true
