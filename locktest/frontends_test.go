//go:build linux

package locktest_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// outcomes are what the locks of the conformance suite come to in every framework: by lock and
// attack, with what a failure says.
var outcomes = map[string]string{
	"correct stop-release":  passes,
	"correct stop-work":     passes, // what no lease prevents
	"correct stop-long":     "skipped: not applicable: it does not keep its grants alive by itself",
	"strict stop-work":      "failed: fell: inherent", // if that is asked for
	"careless stop-release": "failed: fell: a defect", // it frees another client's lock
	"forever kill-work":     "failed: fell: a defect", // a key stays taken
	"anyone nothing-work":   "failed: fell: a defect", // it refuses nobody
}

const (
	passes       = "passed"
	inconclusive = "inconclusive"
)

// frontend is a test framework in another language, with the locks of the suite in that.
type frontend struct {
	name    string
	program string
	// install has it ready in an empty folder, and run writes junit.xml there, or cargo's own words
	// to its standard output.
	install, run string
	files        []string // below locktest; those of Java and Rust come with their package
	// own runs the frontend's own tests, where they need what install has fetched.
	own string
}

var frontends = []frontend{
	{"node:test", "node", ":", "node --test --test-reporter=junit --test-reporter-destination=junit.xml locks.test.mjs",
		[]string{"node/test/locks.cjs", "node/test/locks.test.mjs"}, ""},
	{"node:test of CommonJS", "node", ":", "node --test --test-reporter=junit --test-reporter-destination=junit.xml locks.test.cjs",
		[]string{"node/test/locks.cjs", "node/test/locks.test.cjs"}, ""},
	{"vitest", "npm", "npm install --silent --no-audit --no-fund vitest@3",
		"npx vitest run --reporter=junit --outputFile=junit.xml locks.test.mjs",
		[]string{"node/test/locks.cjs", "node/test/locks.test.mjs"}, ""},
	{"jest", "npm", "npm install --silent --no-audit --no-fund jest@30 jest-junit@16",
		"JEST_JUNIT_CLASSNAME='{classname}' JEST_JUNIT_TITLE='{title}' npx jest --testMatch '**/locks.test.cjs' --reporters jest-junit",
		[]string{"node/test/locks.cjs", "node/test/locks.test.cjs"}, ""},
	{"pytest 7", "python3", pip + "'pytest<8'", pytest, []string{"python/tests/test_locks.py"}, ""},
	{"pytest 8", "python3", pip + "'pytest<9'", pytest, []string{"python/tests/test_locks.py"}, ""},
	{"pytest 9, with xdist", "python3", pip + "'pytest<10' pytest-xdist", pytest + " -n 2", []string{"python/tests/test_locks.py"}, ""},
	{"JUnit 5", "mvn", maven, fmt.Sprintf(jupiter, "5.9.3"), nil, ownOfMaven + "5.9.3"},
	{"JUnit 6", "mvn", maven, fmt.Sprintf(jupiter, "6.0.0"), nil, ownOfMaven + "6.0.0"},
	{"cargo test", "cargo", "cp -r $FRONTENDS/rust package && cd package && cargo fetch -q",
		"cargo test -q --offline --test locks --manifest-path package/Cargo.toml -- --format pretty", nil,
		"cargo test -q --offline --manifest-path package/Cargo.toml"},
}

const (
	pip    = "python3 -m venv venv && cp -r $FRONTENDS/python package && venv/bin/pip install -q ./package "
	pytest = "venv/bin/pytest -p no:cacheprovider --junitxml junit.xml test_locks.py"

	maven = "cp -r $FRONTENDS/junit package && rm -rf package/target && mvn -q -B -f package test-compile"
	// The locks are in no test that Maven finds by itself: most of them fail.
	jupiter = "mvn -q -B -f package surefire:test -Dtest=Locks -Djunit.version=%s; status=$?; " +
		"cp package/target/surefire-reports/TEST-Locks.xml junit.xml && exit $status"
	ownOfMaven = "mvn -q -B -f package test -Djunit.version="
)

// TestFrontends: a lock comes to the same in every framework, and its failure says what it fell by.
func TestFrontends(t *testing.T) {
	needed.Later(t, "ten frameworks take some minutes")
	needed.WithoutRace(t) // the programs that it tests are others
	t.Parallel()          // beside other tests: an attack mostly waits
	needed.Program(t, "redis-server")
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	binary := built(t)
	for _, f := range frontends {
		t.Run(f.name, func(t *testing.T) {
			if _, err := exec.LookPath("cargo"); err != nil && f.program == "cargo" {
				t.Skip("no cargo; Debian's is too old for the crates that the crate needs")
			}
			needed.Program(t, f.program)
			t.Parallel()
			dir := t.TempDir()
			f.prepare(t, here, dir)
			if text, err := f.shell(dir, f.own).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", f.own, err, text)
			}
			f.skipsWhatCannotRun(t, dir)
			f.finds(t, dir, binary)
		})
	}
}

// skipsWhatCannotRun: where the machine lacks what all attacks need, each test says so, and none
// fails.
func (f frontend) skipsWhatCannotRun(t *testing.T, dir string) {
	t.Helper()
	const lacking = "no such server here"
	binary := filepath.Join(dir, "lacking")
	event := fmt.Sprintf(`{"event":"lacking","time":"2026-01-01T00:00:00Z","text":"%s"}`, lacking)
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho '"+event+"'\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := f.outcomes(t, dir, binary)
	if err != nil || len(got) == 0 {
		t.Errorf("where nothing can run: %v, %v", err, got)
	}
	for test, outcome := range got {
		if !strings.HasPrefix(outcome, "skipped: ") || !strings.Contains(outcome, lacking) {
			t.Errorf("where nothing can run: %s: %q", test, outcome)
		}
	}
}

// finds: each attack comes to what it comes to in every framework. One that decided nothing is
// made again.
func (f frontend) finds(t *testing.T, dir, binary string) {
	t.Helper()
	got := map[string]string{}
	decided.Run(t, func() {
		came, err := f.outcomes(t, dir, binary)
		if err == nil {
			t.Error("locks fell, and it ended with success")
		}
		for test, outcome := range came {
			if earlier, made := got[test]; !made || strings.Contains(earlier, inconclusive) {
				got[test] = outcome
			}
		}
		for _, test := range slices.Sorted(maps.Keys(outcomes)) {
			if strings.Contains(got[test], inconclusive) {
				decided.Lacks("an outcome of %s: %s", test, got[test])
			}
			if !strings.HasPrefix(got[test], outcomes[test]) {
				t.Errorf("%s: %q, want %q", test, got[test], outcomes[test])
			}
		}
		if len(got) != len(outcomes) {
			t.Errorf("%d tests, want %d: %v", len(got), len(outcomes), got)
		}
	})
}

// TestAdapterOfPython: what a lock's methods return means what docs/frameworks.md says.
func TestAdapterOfPython(t *testing.T) {
	t.Parallel()
	needed.Program(t, "python3")
	cmd := exec.Command("python3", "-m", "unittest", "test_adapter")
	cmd.Dir = "python/tests"
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// built is the command, which frontends run.
func built(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "lockchaos")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "../cmd/lockchaos")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return binary
}

// prepare puts the locks and their framework into a folder. What cannot be had is missing.
func (f frontend) prepare(t *testing.T, here, dir string) {
	t.Helper()
	for _, file := range f.files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	script := f.install
	if f.program == "node" || f.program == "npm" {
		script = "echo '{\"private\": true}' >package.json && " + script +
			" && mkdir -p node_modules/@lockchaos && cp -r $FRONTENDS/node node_modules/@lockchaos/test"
	}
	if text, err := f.shell(dir, script, "FRONTENDS="+here).CombinedOutput(); err != nil {
		needed.Be(t, fmt.Errorf("%s can't be installed: %w: %s", f.name, err, text))
	}
}

// shell is a script of the frontend's in its folder.
func (f frontend) shell(dir, script string, env ...string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
