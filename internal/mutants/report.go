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

// readEquivalents reads the mutants that change nothing: lines with a mutant's key each, then, indented, the reason that holds for all of them.
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

// sample draws mutants at random from those that are not excused. The same seed draws the same ones.
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

// takeOver takes from an earlier list what was killed, and what it says of the others, which holds until they are tested again.
func takeOver(all []*mutant, path string) error {
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
		}
	}
	return nil
}

// report prints the sum, a line a file, writes the list, and says whether all is well.
func report(mutants []*mutant, excused map[string]string, o options) error {
	type sum struct{ all, killed, equivalent, survive int }
	sums, total := map[string]*sum{}, sum{}
	var files []string
	var list strings.Builder
	wrong, untested := 0, 0
	for _, m := range mutants {
		s := sums[m.file]
		if s == nil {
			s = &sum{}
			sums[m.file], files = s, append(files, m.file)
		}
		s.all, total.all = s.all+1, total.all+1
		reason := excused[m.key()]
		word := wordSurvives
		if o.upTo > 0 {
			word = wordQuick
		}
		switch {
		case m.killedBy != "":
			word, s.killed, total.killed = wordKilled+m.killedBy, s.killed+1, total.killed+1
			if reason != "" {
				fmt.Printf("named as equivalent, and yet killed by %s: %s\n", m.killedBy, m)
				wrong++
			}
		case reason != "" && (m.tested || m.earlier != "" && m.earlier != wordUntested): // it survived, whatever the word was
			word, s.equivalent, total.equivalent = wordEquivalent, s.equivalent+1, total.equivalent+1
		case !m.tested && (m.earlier == wordSurvives || m.earlier == wordQuick):
			word = m.earlier
			s.survive, total.survive = s.survive+1, total.survive+1
		case !m.tested:
			word = wordUntested
			untested++
		default:
			s.survive, total.survive = s.survive+1, total.survive+1
		}
		delete(excused, m.key())
		fmt.Fprintf(&list, "%s\t%s\n", m, word)
	}
	fmt.Printf("\n| file | mutants | killed | equivalent | survive |\n|---|---:|---:|---:|---:|\n")
	for _, f := range files {
		s := sums[f]
		fmt.Printf("| %s | %d | %d | %d | %d |\n", f, s.all, s.killed, s.equivalent, s.survive)
	}
	fmt.Printf("| **all** | %d | %d | %d | %d |\n", total.all, total.killed, total.equivalent, total.survive)
	if o.list != "" {
		if err := os.WriteFile(o.list, []byte(list.String()), 0o644); err != nil {
			return err
		}
	}
	if untested > 0 {
		fmt.Printf("%d were not tested\n", untested)
	}
	if o.sample == 0 {
		for key := range excused {
			fmt.Printf("named as equivalent, and there is no such mutant: %s\n", key)
			wrong++
		}
	}
	if total.survive > 0 || wrong > 0 {
		return errSurvivors
	}
	return nil
}
