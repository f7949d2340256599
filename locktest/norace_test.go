//go:build !race

package locktest_test

// raceEnabled tells whether this program was built with the race detector.
const raceEnabled = false
