package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/runs"
)

// reportOn writes a report of a history that was judged into a folder, and returns the page. One of another tool is written as a history of ours beside it, so that
// its witnesses and every line that the report names can be looked up.
func reportOn(dir, program, again, file string, j *judgedFile) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the report's folder: %w", err)
	}
	h := &j.whole
	out := filepath.Join(dir, runs.HistoryFile)
	if same, err := sameFile(file, out); err != nil {
		return "", err
	} else if !same {
		if err := reports.WriteFile(out, h.Encode); err != nil {
			return "", err
		}
	}
	sc := reports.Scenario{Name: h.Header.Scenario, Lock: h.Header.Lock, Service: h.Header.Service, Fault: h.Header.Fault, Store: "unfenced", Seed: h.Header.Seed,
		StandIns: h.Header.StandIns, Recheck: again, Program: program, History: h, Alone: true}
	if sc.Name == "" {
		sc.Name = filepath.Base(file)
	}
	if h.Header.Store.Fenced {
		sc.Store = "fenced"
	}
	if j.source != nil {
		sc.About = fmt.Sprintf("judged from %s", filepath.Base(file))
		sc.Notes, sc.Lines = j.reading(), j.source.Lines
		if len(h.Header.Names) == 0 {
			sc.Notes = append(sc.Notes, j.clientNames()...)
		}
	}
	// With as many violations as a report marks: check itself keeps fewer.
	sc.Verdict = checker.Judge(h, kept)
	sc.Met = sc.Verdict.Outcome == checker.Pass
	if err := page.WriteFolder(dir, sc); err != nil {
		return "", err
	}
	return filepath.Join(dir, runs.ReportFile), nil
}

// sameFile tells whether two names are of one file, so that a report beside a history does not overwrite it.
func sameFile(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, nil // the standard input
	}
	y, err := os.Stat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", b, err)
	}
	return os.SameFile(x, y), nil
}

// mostNames is how many keys, and clients of each, of a foreign history are named in its report.
const mostNames = 20

// clientNames says which names the clients of a foreign history have in their own file, key by key: they are numbered on each key by themselves.
func (j *judgedFile) clientNames() (lines []string) {
	byKey := make([][]string, len(j.whole.Keys))
	seen := map[string]bool{}
	for i := range j.whole.Events {
		e := &j.whole.Events[i]
		if e.Type != history.Invoke || int(e.Key) >= len(byKey) {
			continue
		}
		part := fmt.Sprintf("client %d is %s", e.Client, harmless.Line(j.source.Client(j.whole.Keys[e.Key], e.Client)))
		if id := fmt.Sprintf("%d %s", e.Key, part); !seen[id] {
			seen[id] = true
			byKey[e.Key] = append(byKey[e.Key], part)
		}
	}
	for k, parts := range byKey[:min(len(byKey), mostNames)] {
		if more := len(parts) - mostNames; more > 0 {
			parts = append(parts[:mostNames:mostNames], fmt.Sprintf("and %d more", more))
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("On %s, %s.", harmless.Line(j.whole.Keys[k]), strings.Join(parts, ", ")))
		}
	}
	return lines
}
