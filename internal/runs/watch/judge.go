package watch

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/saved"
	"github.com/lockchaos/lockchaos/reports"
)

// Finding is a violation, as findings.jsonl has it.
type Finding struct {
	ID       string   `json:"id"`
	Property string   `json:"property"`
	Kind     string   `json:"kind,omitempty"`
	Key      string   `json:"key"`
	At       int64    `json:"at_ns"` // since 1970
	Text     string   `json:"text"`
	Lines    []int64  `json:"lines"` // of the log as it came, from 1
	Clients  []string `json:"clients,omitempty"`
	Page     string   `json:"page"`
}

// mostPages is how many findings have a page of their own.
const mostPages = 1000

// everything keeps each violation of a key's lines.
var everything = checker.Options{Keep: 1 << 20}

// source reads the lines of a key, in the order in which they came.
func (w *watcher) source(k *key) (*audit.Source, error) {
	slices.SortStableFunc(k.entries, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	lines, numbers := make([][]byte, len(k.entries)), make([]int, len(k.entries))
	for i := range k.entries {
		lines[i], numbers[i] = k.entries[i].text, int(k.entries[i].number)
	}
	first := int64(0)
	if len(k.entries) > 0 {
		first = k.entries[0].At
	}
	return w.parser.Translate(lines, numbers, first, w.missing(k))
}

// missing says where among the lines of a key bad ones were.
func (w *watcher) missing(k *key) audit.Missing {
	m := audit.Missing{N: int(w.Bad)}
	for _, gap := range w.Gaps {
		i, _ := slices.BinarySearchFunc(k.entries, gap,
			func(e entry, gap int64) int { return cmp.Compare(e.number, gap) })
		m.Before = append(m.Before, i)
	}
	return m
}

// judge judges the lines of a key, and tells what was not told.
func (w *watcher) judge(name string, k *key) error {
	s, err := w.source(k)
	whole := w.keys[name]
	if whole == nil {
		whole = &key{}
	}
	switch {
	case errors.Is(err, audit.ErrNothing):
		return nil
	case errors.Is(err, audit.ErrNoGrant):
		whole.doubt = err.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("judge the lock %q: %w", name, err)
	}
	defer s.Close()
	j, err := saved.Translated(s, everything, false)
	if err != nil {
		return fmt.Errorf("judge the lock %q: %w", name, err)
	}
	whole.doubt = s.Doubt
	if err := w.open(name, s); err != nil {
		return err
	}
	told := reports.Relabeled(&j.History.Header, j.Verdict) // with the log's own names and times
	for i := range told.Properties {
		for _, v := range told.Properties[i].Violations {
			f := w.finding(s, &v)
			if w.found.all[f.ID] {
				continue
			}
			if err := w.record(k, &f); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetDoubt notes that lines of a key are forgotten that left it in doubt: those that are kept do
// not tell of it.
func (w *watcher) forgetDoubt(name string, k *key) {
	rest := ""
	s, err := w.source(k.until(w.horizon))
	switch {
	case err == nil:
		rest = s.Doubt
		s.Close()
	case errors.Is(err, audit.ErrNoGrant):
		rest = err.Error()
	}
	if rest != k.doubt {
		w.doubt(name, k.doubt)
		k.doubt = rest
	}
}

// doubt notes why a key is in doubt.
func (s *state) doubt(name, why string) {
	s.Doubt = cmp.Or(s.Doubt, fmt.Sprintf("%s: %s", harmless.Line(name), harmless.Line(why)))
	s.Doubtful++
}

// open tells of lines that leave it open who held a key.
func (w *watcher) open(name string, s *audit.Source) error {
	for _, o := range s.Open {
		number := int64(o.Line)
		if seen := w.keys[name]; number == 0 || seen == nil || slices.Contains(seen.open, number) {
			continue
		} else if seen.open = append(seen.open, number); len(seen.open) > mostOpen {
			seen.open = seen.open[1:]
		}
		w.Open++
		if _, err := harmless.Fprintf(w.Out, "inconclusive on %s: %s (line %d)\n", harmless.Line(name),
			harmless.Line(o.Text), number); err != nil {
			return err
		}
	}
	return nil
}

// mostOpen is how many lines of a key are remembered that leave it open who held it.
const mostOpen = 16

// finding names a violation by the lines of the log.
func (w *watcher) finding(s *audit.Source, v *checker.Violation) Finding {
	f := Finding{Property: v.Property, Kind: v.Kind, Key: v.Key, At: s.Header.Started.UnixNano() + v.At, Text: v.Text}
	of := func(op int64) int64 {
		line, _ := s.Lines(op)
		return int64(line)
	}
	f.ID = v.Property + " " + v.Key
	for _, g := range []*checker.GrantRef{v.A, v.B} {
		if g != nil {
			f.ID += fmt.Sprintf(" %d/%d", of(g.Grant), g.Token)
			f.Clients = append(f.Clients, s.Client(v.Key, g.Client))
		}
	}
	for _, op := range v.Ops {
		if line := of(op); line > 0 && !slices.Contains(f.Lines, line) {
			f.Lines = append(f.Lines, line)
		}
	}
	slices.Sort(f.Lines)
	if v.A == nil && v.B == nil {
		f.ID += fmt.Sprint(f.Lines)
	}
	return f
}

// record writes the page of a finding and then the finding, and tells it.
func (w *watcher) record(k *key, f *Finding) error {
	if n := len(w.found.all) + 1; n <= mostPages {
		f.Page = filepath.Join(w.Dir, fmt.Sprintf("violation-%04d", n), "report.html")
		j, err := w.around(k, f)
		if err != nil {
			return err
		}
		defer j.Close()
		if _, err := j.Report(filepath.Dir(f.Page), f.Key, w.Program,
			w.Program+" check "+filepath.Join(filepath.Dir(f.Page), "history.jsonl")); err != nil {
			return err
		}
	}
	if err := w.found.add(f); err != nil {
		return err
	}
	w.Metrics.Violation(f.Property)
	return w.tell(f)
}

// mostAround is how many lines of its key a page has before and after those of the finding.
const mostAround = 50

// around judges the lines of a finding with some before and after them. If these alone don't show
// it, it judges all that are kept of the key.
func (w *watcher) around(k *key, f *Finding) (*saved.Judged, error) {
	first, last := len(k.entries), 0
	for i := range k.entries {
		if slices.Contains(f.Lines, k.entries[i].number) {
			first, last = min(first, i), max(last, i)
		}
	}
	part := &key{entries: slices.Clone(k.entries[max(0, min(first, last)-mostAround):min(len(k.entries),
		last+mostAround)])}
	for _, lines := range []*key{part, k} {
		s, err := w.source(lines)
		if err != nil {
			if lines == part {
				continue
			}
			return nil, err
		}
		j, err := saved.Translated(s, checker.Options{}, true)
		if err != nil {
			return nil, err
		}
		if p := j.Verdict.Property(f.Property); lines == k || p != nil && p.Count > 0 {
			return j, nil
		}
		j.Close()
	}
	return nil, fmt.Errorf("no lines are kept of the lock %q", f.Key)
}
