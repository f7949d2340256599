// Package needed says what happens to a test that lacks something: a program, a service, an ability
// of the kernel.
//
// Such a test is skipped, and says what to install. With LOCKCHAOS_REQUIRE=all
// it fails: CI installs everything, so there a skip would hide a mistake.
//
// `make test` and `make check` set LOCKCHAOS_TIER=packages. They run the tests whose servers come
// with the system's packages, and leave the rest to `make test-all`: what needs servers that must
// be built, or containers, and what another test stands for.
package needed

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"testing"
)

// The environment variables that decide about tests that lack something.
const (
	RequireVar = "LOCKCHAOS_REQUIRE" // "all": what is missing fails the test
	// "packages": what calls Later is left to `make test-all`
	TierVar = "LOCKCHAOS_TIER"
)

// Setup is the command that installs what tests need.
const Setup = "./scripts/setup"

// All reports whether the user requires everything.
func All() bool { return os.Getenv(RequireVar) == "all" }

// Be skips the test if one of the errors is set, because something is missing
// here. It fails the test where everything is required.
func Be(t testing.TB, missing ...error) {
	t.Helper()
	err := errors.Join(missing...)
	switch {
	case err == nil:
	case All():
		t.Fatalf("required (%s=all): %v", RequireVar, err)
	default:
		t.Skipf("%v (to install what tests need: %s)", err, Setup)
	}
}

// Program returns the path of the first of the programs that this machine has. If it has none, Be
// decides.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	var first error
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			return path
		}
		if first == nil {
			first = err
		}
	}
	Be(t, first)
	return ""
}

// Browser returns the path of a Chromium, under any of the names that it has. If there is none, Be
// decides.
func Browser(t testing.TB) string {
	t.Helper()
	return Program(t, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
}

// Later skips the test in `make test` and `make check`. What says why: its server is no package
// ("Consul is built from source"), or another test stands for it.
func Later(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(TierVar) == "packages" {
		t.Skipf("%s: make test-all runs this test", what)
	}
}

// WithoutRace skips a test in a binary with the race detector, which would see nothing there that
// it does not see in another test. The test runs in a binary without.
func WithoutRace(t testing.TB) {
	t.Helper()
	if Raced() {
		t.Skip("it is run without the race detector")
	}
}

// Raced reports whether this binary has the race detector.
func Raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Apart leaves the test to the step of `make test-all` that is without the race detector: it is no
// part of `make test`, where another test stands for it, which what names.
func Apart(t testing.TB, what string) {
	t.Helper()
	Later(t, what)
	WithoutRace(t)
}

// Simulates is called by a test that compiles Go for the simulation. It waits for compilers, needs
// no server, and runs programs that the race detector does not see.
func Simulates(t testing.TB) {
	t.Helper()
	Apart(t, "it compiles Go for the simulation")
}
