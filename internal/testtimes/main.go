// Command testtimes reads what `go test -json` wrote, and says where the time
// of a test run went and which tests were left out, and why.
//
// Usage: testtimes FILE
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// rows is how many packages are listed.
const rows = 12

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: testtimes FILE")
		os.Exit(64)
	}
	f, err := os.Open(os.Args[1])
	if err == nil {
		defer f.Close()
		var s *summary
		if s, err = read(f); err == nil {
			s.print(os.Stdout)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "testtimes:", err)
	os.Exit(1)
}

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// took is how long a package or a test took, in seconds of the clock.
type took struct {
	name    string
	seconds float64
}

// summary is what there is to say about a test run.
type summary struct {
	packages []took
	longest  map[string]took     // by package, its longest test
	skipped  map[string][]string // by reason, the tests
}

// read reads the lines of `go test -json`. What is no such line, such as a
// message of the compiler, is passed over.
func read(r io.Reader) (*summary, error) {
	s := &summary{longest: map[string]took{}, skipped: map[string][]string{}}
	// by package and test, its last line that names a place in the source
	said := map[string]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			s.add(e, said)
		}
	}
	return s, lines.Err()
}

// place is the beginning of a line that a test has logged.
var place = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

func (s *summary) add(e event, said map[string]string) {
	test := e.Package + "." + e.Test
	switch {
	case e.Action == "output":
		if at := place.FindString(e.Output); at != "" {
			said[test] = strings.TrimSpace(e.Output[len(at):])
		}
	case e.Action == "skip" && strings.HasPrefix(said[test], "not judged: "):
		// A property that package locktest did not judge is no test that was left out.
	case e.Action == "skip" && e.Test != "":
		s.skipped[said[test]] = append(s.skipped[said[test]], test)
	case e.Action != "pass" && e.Action != "fail":
	case e.Test == "":
		s.packages = append(s.packages, took{e.Package, e.Elapsed})
	case e.Elapsed > s.longest[e.Package].seconds && !strings.Contains(e.Test, "/"):
		s.longest[e.Package] = took{e.Test, e.Elapsed}
	}
}

func (s *summary) print(w io.Writer) {
	slices.SortStableFunc(s.packages, func(a, b took) int {
		if a.seconds != b.seconds {
			return int(b.seconds*1000) - int(a.seconds*1000)
		}
		return strings.Compare(a.name, b.name)
	})
	fmt.Fprintln(w, "\nWhere the time went (packages run side by side):")
	for _, p := range s.packages[:min(rows, len(s.packages))] {
		fmt.Fprintf(w, "%7.1f s  %s", p.seconds, p.name)
		if l, any := s.longest[p.name]; any {
			fmt.Fprintf(w, " (longest: %s, %.1f s)", l.name, l.seconds)
		}
		fmt.Fprintln(w)
	}
	if len(s.skipped) == 0 {
		return
	}
	fmt.Fprintln(w, "\nLeft out:")
	for _, why := range s.reasons() {
		tests := s.skipped[why]
		fmt.Fprintf(w, "%5d  %s (%s%s)\n", len(tests), why, tests[0], map[bool]string{true: ", …"}[len(tests) > 1])
	}
}

// reasons are why tests were left out, the most frequent first.
func (s *summary) reasons() (out []string) {
	for why := range s.skipped {
		out = append(out, why)
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := len(s.skipped[b]) - len(s.skipped[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return out
}
