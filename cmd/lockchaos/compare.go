package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/screen"
)

// compareFile is the page of two runs, in the folder of the second.
const compareFile = "comparison.html"

// compareRuns sets two runs side by side, as text and as a page. It is 1 if a scenario of the second is worse, 2 if one is no longer decided.
func compareRuns(out io.Writer, a, b, file string) error {
	first, err := loadSaved(a)
	if err != nil {
		return exit.Misuse(err)
	}
	second, err := loadSaved(b)
	if err != nil {
		return exit.Misuse(err)
	}
	c := reports.Compare(first.suite, second.suite)
	if file == "" {
		file = filepath.Join(second.dir, compareFile)
	}
	to := func(dir string) (string, error) { return relative(filepath.Dir(file), dir) }
	dirA, err := to(first.dir)
	if err != nil {
		return err
	}
	dirB, err := to(second.dir)
	if err != nil {
		return err
	}
	if err := reports.WriteFile(file, func(w io.Writer) error { return reports.WriteComparison(w, c, dirA, dirB) }); err != nil {
		return err
	}
	s := screen.New(out)
	if err := reports.ComparisonText(out, c, s.Color); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	harmless.Fprintf(out, "report: %s\n", file)
	switch {
	case c.Count(reports.Worse) > 0:
		return exit.With(exit.Violated, nil)
	case c.Count(reports.Undecided) > 0:
		return exit.With(exit.Inconclusive, nil)
	}
	return nil
}

// relative is the way from one folder to another, with slashes.
func relative(from, to string) (string, error) {
	var err error
	for _, dir := range []*string{&from, &to} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return "", fmt.Errorf("find a folder: %w", err)
		}
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	way, err := filepath.Rel(from, to)
	if err != nil {
		return "", fmt.Errorf("find the way to %s: %w", to, err)
	}
	return filepath.ToSlash(way), nil
}
