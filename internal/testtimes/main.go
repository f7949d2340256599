// Command testtimes reads what runs of `go test -json` wrote, and says where the
// time went and which tests were left out, and why. A file that there is not is
// a run that was not begun.
//
// Usage: testtimes FILE…
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// rows is how many packages are listed.
const rows = 12

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: testtimes FILE…")
		os.Exit(64)
	}
	s := newSummary()
	for _, name := range os.Args[1:] {
		if err := s.file(name); err != nil {
			fmt.Fprintln(os.Stderr, "testtimes:", err)
			os.Exit(1)
		}
	}
	s.print(os.Stdout)
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

// summary is what there is to say about test runs.
type summary struct {
	packages []took
	longest  map[string]took     // by package, its longest test
	skipped  map[string][]string // by reason, the tests
}

func newSummary() *summary {
	return &summary{longest: map[string]took{}, skipped: map[string][]string{}}
}

func (s *summary) file(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return s.read(f)
}

// read reads the lines of `go test -json`. What is no such line, such as a
// message of the compiler, is passed over.
func (s *summary) read(r io.Reader) error {
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
	return lines.Err()
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
