//go:build linux

package locktest_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
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
	hoststest.WithoutRace(t) // the programs that it tests are others
	t.Parallel()             // beside other tests: an attack mostly waits
	needed.Program(t, "redis-server")
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	binary := built(t)
	for _, f := range frontends {
		t.Run(f.name, func(t *testing.T) {
			needed.Program(t, f.program)
			t.Parallel()
			dir := t.TempDir()
			f.prepare(t, here, dir)
			if text, err := f.shell(dir, f.own).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", f.own, err, text)
			}
			got := map[string]string{}
			decided.Run(t, func() {
				for test, outcome := range f.outcomes(t, dir, binary) {
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
		})
	}
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

// cargoTest is what cargo prints of a test. cargoStory is how it begins what a failed one says.
var cargoTest = regexp.MustCompile(`(?m)^test (\S+)::(\S+) +\.\.\. (ok|FAILED|ignored)(?: \((.*)\))?$`)

const cargoStory = "\n---- %s::%s ----\n"

// cargoCameTo reads what tests came to, which cargo writes into no file.
func cargoCameTo(said string) map[string]string {
	got := map[string]string{}
	for _, m := range cargoTest.FindAllStringSubmatch(said, -1) {
		var failure, skipped *message
		switch m[3] {
		case "FAILED":
			_, story, _ := strings.Cut(said, fmt.Sprintf(cargoStory, m[1], m[2]))
			story, _, _ = strings.Cut(story, "\n---- ")
			failure = &message{Text: story}
		case "ignored":
			skipped = &message{Text: m[4]}
		}
		got[m[1]+" "+m[2]] = cameTo(failure, nil, skipped, "")
	}
	return got
}

// junit is the part of a report that all frameworks write.
type junit struct {
	Suites []junit `xml:"testsuite"`
	Cases  []struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *message `xml:"failure"`
		Error   *message `xml:"error"`
		Skipped *message `xml:"skipped"`
	} `xml:"testcase"`
	Name string `xml:"name,attr"`
}

type message struct {
	Text string `xml:"message,attr"`
	Body string `xml:",chardata"`
}

// outcomes runs the framework, and returns what each of its tests came to.
func (f frontend) outcomes(t *testing.T, dir, binary string) map[string]string {
	t.Helper()
	cmd := f.shell(dir, f.run, "LOCKCHAOS_BIN="+binary, "LOCKCHAOS_RUNS="+filepath.Join(dir, "runs"), "TMPDIR="+dir)
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("locks fell, and it ended with %v\n%s", err, said)
	}
	if f.program == "cargo" {
		return cargoCameTo(string(said))
	}
	text, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var report junit
	if err := xml.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got := map[string]string{}
	report.collect(got)
	return got
}

// collect adds what the tests came to, by lock and attack.
func (j junit) collect(to map[string]string) {
	for _, inner := range j.Suites {
		inner.collect(to)
	}
	for _, c := range j.Cases {
		name, reason, _ := strings.Cut(c.Name, " (") // where a framework has no other place for the reason of a skip
		class := c.Class
		if class == "test" { // node:test gives every test this one
			class = ""
		}
		words := strings.FieldsFunc(j.Name+" "+class+" "+name, func(r rune) bool { return strings.ContainsRune(" .>:", r) })
		lock := words[max(0, len(words)-2)]
		to[lock+" "+words[len(words)-1]] = cameTo(c.Failure, c.Error, c.Skipped, strings.TrimSuffix(reason, ")"))
	}
}

// cameTo tells in one form what the frameworks tell in several.
func cameTo(failure, failed, skipped *message, reason string) string {
	switch {
	case skipped != nil:
		if reason == "" {
			reason = skipped.Text
		}
		if reason == "" { // Maven has it in the exception
			_, reason, _ = strings.Cut(strings.TrimSpace(skipped.Body), ": ")
		}
		return "skipped: " + reason
	case failed != nil:
		return "error: " + failed.Text + failed.Body
	case failure != nil:
		text := failure.Text + "\n" + failure.Body
		told := strings.Contains(text, "report: /") && strings.Contains(text, "again: ")
		if _, after, found := strings.Cut(text, "fell: "); found && told {
			return "failed: fell: " + after
		}
		return "failed: " + text
	}
	return passes
}
