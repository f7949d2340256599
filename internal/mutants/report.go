package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
)

// readEquivalents reads the mutants that change nothing: lines with a mutant's
// key each, then, indented, the reason that holds for all of them.
func readEquivalents(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	excuses := map[string]string{}
	var keys []string
	reasoned := false
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " ")
		reason, indented := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || line[0] == '#':
		case indented && len(keys) == 0:
			return nil, fmt.Errorf("%s:%d: a reason without a mutant", path, n)
		case indented:
			for _, k := range keys {
				excuses[k] = strings.TrimSpace(excuses[k] + " " + reason)
			}
			reasoned = true
		default:
			if reasoned {
				keys, reasoned = nil, false
			}
			if _, twice := excuses[line]; twice {
				return nil, fmt.Errorf("%s:%d: named twice: %s", path, n, line)
			}
			keys, excuses[line] = append(keys, line), ""
		}
	}
	for k, reason := range excuses {
		if reason == "" {
			return nil, fmt.Errorf("%s: no reason is given for %s", path, k)
		}
	}
	return excuses, lines.Err()
}

// sample draws mutants at random from those that are not excused. The same seed
// draws the same ones.
func sample(all []*mutant, excused map[string]string, n int, seed uint64) []*mutant {
	left := slices.DeleteFunc(slices.Clone(all), func(m *mutant) bool { return excused[m.key()] != "" })
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	return left[:min(n, len(left))]
}

// The words of the list, behind a tab.
const (
	wordKilled     = "killed by "
	wordEquivalent = "equivalent"
	wordSurvives   = "SURVIVES"
	wordUntested   = "not tested"
	wordQuick      = "survives the quick tests, the others were not asked"
)

var listLine = regexp.MustCompile(`^(\S+?):\d+ (.*)\t(.*)$`)

// takeOver takes from an earlier list what was killed, and what it says of the
// others, which holds until they are tested again.
func takeOver(all []*mutant, excused map[string]string, path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	earlier := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if at := listLine.FindStringSubmatch(strings.TrimRight(line, "\n")); at != nil {
			earlier[at[1]+" "+at[2]] = at[3]
		}
	}
	for _, m := range all {
		if by, ok := strings.CutPrefix(earlier[m.key()], wordKilled); ok {
			m.killedBy = by
		} else {
			m.earlier = earlier[m.key()]
			m.stands = m.earlier == wordEquivalent && excused[m.key()] != ""
		}
	}
	return nil
}

// report prints the sum, a line a file, writes the list, and says whether all is well.
func report(mutants []*mutant, excused map[string]string, o options) error {
	sums, total := map[string]sum{}, sum{}
	var files []string
	var list strings.Builder
	wrong := 0
	for _, m := range mutants {
		if sums[m.file] == nil {
			sums[m.file], files = sum{}, append(files, m.file)
		}
		reason := excused[m.key()]
		f, word := m.fate(reason != "", o.upTo > 0)
		if f == killed && reason != "" {
			fmt.Printf("named as equivalent, and yet killed by %s: %s\n", m.killedBy, m)
			wrong++
		}
		sums[m.file][f]++
		total[f]++
		delete(excused, m.key())
		fmt.Fprintf(&list, "%s\t%s\n", m, word)
	}
	fmt.Printf("\n| file | mutants | killed | equivalent | survive |\n|---|---:|---:|---:|---:|\n")
	for _, f := range files {
		sums[f].print(f)
	}
	total.print("**all**")
	if o.list != "" {
		if err := os.WriteFile(o.list, []byte(list.String()), 0o644); err != nil {
			return err
		}
	}
	if n := total[untested]; n > 0 {
		fmt.Printf("%d were not tested\n", n)
	}
	if o.sample == 0 {
		for key := range excused {
			fmt.Printf("named as equivalent, and there is no such mutant: %s\n", key)
			wrong++
		}
	}
	if total[survives] > 0 || wrong > 0 {
		return errSurvivors
	}
	return nil
}

// fate is what became of a mutant.
type fate uint8

const (
	killed fate = iota
	equivalent
	survives
	untested
)

// sum counts mutants by their fates.
type sum map[fate]int

func (s sum) print(of string) {
	all := s[killed] + s[equivalent] + s[survives] + s[untested]
	fmt.Printf("| %s | %d | %d | %d | %d |\n", of, all, s[killed], s[equivalent], s[survives])
}

// fate tells what became of the mutant, with the word of the list. excused: there is a reason why
// no test can kill it; quick: only the quick tests were asked.
func (m *mutant) fate(excused, quick bool) (fate, string) {
	survived := m.tested || m.earlier != "" && m.earlier != wordUntested // whatever the word was
	switch {
	case m.killedBy != "":
		return killed, wordKilled + m.killedBy
	case excused && survived:
		return equivalent, wordEquivalent
	case !m.tested && (m.earlier == wordSurvives || m.earlier == wordQuick):
		return survives, m.earlier
	case !m.tested:
		return untested, wordUntested
	case quick:
		return survives, wordQuick
	}
	return survives, wordSurvives
}
