// Package watch judges an endless log as it comes, in bounded memory, and goes on after a restart.
//
// # What is kept
//
// Every line is written to a journal before it is judged. Each key of the log is judged by itself,
// over its lines that may still matter, by what judges whole logs (package audit, package checker).
// The lines of a key up to a quiet point are then forgotten. A quiet point is an instant at which
// no client holds the key, and which lies so far back that no line about the time before it may
// still come (Settings.Late). A client that is silent for Settings.Forget under a grant counts as
// gone. Of what is forgotten only the grant with the greatest token stays, because later tokens are
// compared with it, and the requests of those who still wait. A key that is never free, with many
// lines, is forgotten but for what later lines can still prove something about (key.settle).
//
// How far the log has come, which Late and Forget are counted from, is what lines of two
// clients agree on (clock): one client whose clock is hours ahead makes nothing old.
//
// The journal is rewritten when most of it is forgotten. So the journal is the
// checkpoint: reading it again gives the state, after a kill at any moment. A line
// that speaks of what was forgotten is not judged but counted, and kept aside.
//
// # What is told
//
// A finding is known by its property, its key and the lines of its two grants.
// findings.jsonl holds each finding once, with its page in a folder beside it.
// After a restart what is in that file is not told again.
package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/metrics"
)

// Settings says what is watched, and where the journal and the findings lie.
type Settings struct {
	Format  formats.Format // CSV, JSON or Text; Auto: recognised by the first lines
	Options audit.Options
	Dir     string
	// Late is how much older than the newest line a line may be that still comes.
	Late time.Duration
	// Forget is how long a client may be silent under a grant before it counts as gone.
	Forget time.Duration
	// Program is how to call lockchaos, for what the pages say.
	Program string
	Out     io.Writer
	Metrics *metrics.Set // nil: nothing is counted

	mostKept int // of tests; 0: mostKept
}

// Result is what a watch came to.
type Result struct {
	Lines, Bad, Beyond, Findings int64
	// Crowded counts how often lines of a key were forgotten that a later line
	// might have spoken of, because the key was never free and had too many.
	Crowded int64
	// Open counts lines that leave it open who held a lock: at least so many.
	Open int64
	// Doubtful counts how often lines of a lock were judged and left it in doubt whether it was
	// violated: at least so often. Doubt says of the first ones why.
	Doubtful int64
	Doubt    string
	// Nothing: no line was about a lock.
	Nothing bool
}

// Decided reports whether all lines were judged, so that no finding means no violation.
func (r Result) Decided() bool { return r.Bad+r.Beyond+r.Crowded+r.Open == 0 && !r.Nothing }

const (
	longestLine = 1 << 20 // bytes; a longer line is bad
	mostPending = 50_000  // lines that wait to be judged
	passEvery   = 200 * time.Millisecond
	headLines   = 16 // lines by which a log that is sent again from its start is known
	lastLines   = 64 // lines by which an end that is sent again is known
)

// watcher is one watch that goes on.
type watcher struct {
	Settings
	state
	parser  *audit.Parser
	keys    map[string]*key
	dirty   map[string]*key
	pending int
	horizon int64     // until when lines were judged
	arrived time.Time // when the last line came
	journal *journal
	found   *findings
	aside   *unjudgedLines
}

// Run watches a log until it ends or ctx is done. What is wrong with the first lines is an error of
// package audit; what is wrong in a later line is counted.
func Run(ctx context.Context, in io.Reader, s Settings) (Result, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return Result{}, fmt.Errorf("make the folder of the watch: %w", err)
	}
	w := &watcher{Settings: s, keys: map[string]*key{}, dirty: map[string]*key{}, arrived: time.Now()}
	unlock, err := lock(filepath.Join(s.Dir, "watch.lock"))
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if w.found, err = openFindings(s.Dir); err != nil {
		return Result{}, err
	}
	defer w.found.close()
	w.aside = &unjudgedLines{dir: s.Dir}
	if err := w.resume(); err != nil {
		return Result{}, err
	}
	err = w.follow(ctx, in)
	if w.journal != nil {
		err = errors.Join(err, w.journal.close())
	}
	r := Result{Lines: w.Lines, Bad: w.Bad, Beyond: w.Beyond, Findings: int64(len(w.found.all)), Crowded: w.Crowded,
		Open: w.Open, Nothing: w.nothing()}
	for _, name := range slices.Sorted(maps.Keys(w.keys)) {
		if why := w.keys[name].doubt; why != "" {
			w.doubt(name, why)
		}
	}
	r.Doubt, r.Doubtful = w.Doubt, w.Doubtful
	return r, err
}

// follow takes lines as they come, and judges them whenever it has time or many wait.
func (w *watcher) follow(ctx context.Context, in io.Reader) error {
	stopped, stop := context.WithCancel(ctx)
	defer stop()
	lines := readLines(stopped, in)
	again := resend{state: w.state}
	wait := time.NewTimer(passEvery)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return w.pass(false)
		case batch, more := <-lines:
			if !more {
				if err := errors.Join(w.receive(&again, again.idle()), w.pass(true)); err != nil || !w.nothing() {
					return err
				}
				return fmt.Errorf("the log has ended, and none of its %d lines is about a lock", w.Lines)
			}
			if batch.err != nil {
				return errors.Join(fmt.Errorf("read the log: %w", batch.err), w.pass(false))
			}
			fresh, err := again.fresh(batch.lines)
			if err != nil {
				return err
			}
			if err := w.receive(&again, fresh); err != nil {
				return err
			}
			if w.pending < mostPending {
				continue
			}
		case <-wait.C:
			if err := w.receive(&again, again.idle()); err != nil {
				return err
			}
		}
		began := time.Now()
		if err := w.pass(false); err != nil {
			return err
		}
		wait.Reset(max(passEvery, 3*time.Since(began)))
	}
}

// takeAll writes lines to the journal, and then understands them.
func (w *watcher) takeAll(lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	if w.parser == nil {
		if err := w.begin(lines); err != nil {
			return err
		}
	}
	w.arrived = time.Now()
	for _, line := range lines {
		if err := w.journal.add(w.Lines+1, 0, line); err != nil {
			return err
		}
		w.note(line)
		w.take(line, w.Lines)
	}
	return w.journal.flush()
}

// begin finds out what the log is by its first lines.
func (w *watcher) begin(lines [][]byte) (err error) {
	n, size := 0, 0
	for n < len(lines) && (n == 0 || size < formats.DetectBytes) {
		size += len(lines[n])
		n++
	}
	head := append(bytes.Join(lines[:n], []byte("\n")), '\n')
	if w.Format == formats.Auto {
		if w.Options.Pattern != "" {
			w.Format = formats.Text
		} else if w.Format, err = formats.Detect(head[:min(len(head), formats.DetectBytes)], "",
			len(w.Options.Map) > 0); err != nil {
			return fmt.Errorf("the log's first lines: %w", err)
		}
	}
	if w.Format != formats.CSV && w.Format != formats.JSON && w.Format != formats.Text {
		return fmt.Errorf("watch reads logs in CSV, JSON lines or lines of text, and this is of the format %s: save it to a file, and judge that with check", w.Format)
	}
	if w.Options.FileDate == "" {
		w.Options.FileDate = time.Now().UTC().Format(time.DateOnly)
	}
	w.Head.Format, w.Head.First = w.Format, head
	if w.parser, err = audit.NewParser("standard input", head, w.Format, w.Options); err != nil {
		return err
	}
	w.Head.Options = w.Options
	w.journal, err = w.write()
	return err
}

// take understands a line that is in the journal.
func (w *watcher) take(text []byte, number int64) {
	w.Metrics.Line(metrics.LineRead)
	if w.parser.Heading() != "" && bytes.Equal(bytes.TrimRight(text, "\r"),
		bytes.TrimRight([]byte(w.parser.Heading()), "\r\n")) {
		return // a file that is rotated begins with its heading again
	}
	t, err := w.parser.Line(text, int(number))
	switch {
	case len(text) >= longestLine:
		err = fmt.Errorf("line %d: longer than %d bytes", number, longestLine)
	case err == nil && !t.Ignored && t.At > time.Now().Add(24*time.Hour).UnixNano():
		err = fmt.Errorf("line %d: its time lies in the future", number)
	}
	if err != nil {
		if w.Bad++; len(w.Gaps) < audit.MostGaps {
			w.Gaps = append(w.Gaps, number)
		}
		w.Metrics.Line(metrics.LineBad)
		w.aside.add("bad-lines", text, err)
		return
	}
	if t.Ignored {
		return
	}
	w.place(entry{LineSummary: t, number: number, text: bytes.Clone(text)})
}

// place puts a line with those of its key, unless it is about what was forgotten.
func (w *watcher) place(e entry) {
	k := w.keys[e.Key]
	if k == nil {
		k = &key{cut: w.Deleted}
		w.keys[e.Key] = k
	}
	if e.number > w.Kept && k.forgot(&e) {
		w.Beyond++
		w.Metrics.Line(metrics.LineLate)
		w.aside.add("late-lines", e.text, fmt.Errorf("line %d: what it is about was forgotten: see --late and --forget",
			e.number))
		if len(k.entries) == 0 {
			delete(w.keys, e.Key)
		}
		return
	}
	if e.number > w.Kept { // the clock of the journal has seen those before
		w.see(e.Client, e.At, w.slack())
	}
	if e.Holds {
		w.Metrics.Grant(k.waited(&e))
	}
	k.entries = append(k.entries, e)
	w.dirty[e.Key] = k
	w.pending++
}

// pass judges the keys that have new lines, tells what is new, and forgets what is settled. What is
// younger than Late is not judged yet, for a line may still come that excuses it; unless the log is
// over, or nothing has come for as long.
func (w *watcher) pass(over bool) error {
	horizon := int64(math.MaxInt64)
	if !over && time.Since(w.arrived) <= w.Late {
		horizon = w.Newest - int64(w.Late)
	}
	w.horizon = horizon
	for _, name := range slices.Sorted(maps.Keys(w.dirty)) {
		k := w.dirty[name]
		if old := k.until(horizon); len(old.entries) != k.judged {
			if err := w.judge(name, old); err != nil {
				return err
			}
			k.judged = len(old.entries)
		}
		if k.judged == len(k.entries) {
			delete(w.dirty, name)
		}
		w.settle(name, k)
		k.judged = len(k.until(horizon).entries)
	}
	w.pending = 0
	if err := w.shorten(); err != nil {
		return err
	}
	if w.Newest != 0 {
		w.Metrics.Log(w.live(), time.Since(time.Unix(0, w.Newest)))
	}
	return nil
}

// settle forgets what is settled of a key, and the key if that is all.
func (w *watcher) settle(name string, k *key) {
	cut, crowded := k.settle(w.Newest, w.Settings)
	if crowded {
		w.Crowded++
	}
	if cut != 0 && k.doubt != "" {
		w.forgetDoubt(name, k)
	}
	if cut != 0 && len(k.entries) == 0 {
		w.Deleted = max(w.Deleted, cut)
		delete(w.keys, name)
		delete(w.dirty, name)
	}
}

// slack is by how much the time of a line may differ from that of those that come with it.
func (s *Settings) slack() int64 { return int64(s.Late + 2*s.Options.ClockError) }

// nothing reports whether no line so far was about a lock.
func (w *watcher) nothing() bool { return w.Newest == 0 && w.Ahead.Lines == 0 }

// live is how many lines are kept.
func (w *watcher) live() (n int) {
	for _, k := range w.keys {
		n += len(k.entries)
	}
	return n
}

// shorten writes the journal anew if most of it is forgotten. Keys of which no line has come since
// are settled first.
func (w *watcher) shorten() error {
	if w.journal == nil || w.journal.added < mostPending {
		return nil
	}
	for name, k := range w.keys {
		w.settle(name, k)
	}
	if w.journal.added < int64(2*w.live()) {
		return nil
	}
	old := w.journal
	var err error
	if w.journal, err = w.write(); err != nil {
		return err
	}
	return old.close()
}

// tell prints a finding, one line.
func (w *watcher) tell(f *Finding) error {
	_, err := harmless.Fprintf(w.Out, "%s %s on %s: %s (lines %v, %s)\n",
		time.Unix(0, f.At).UTC().Format(time.RFC3339Nano), f.Property,
		harmless.Line(f.Key), harmless.Line(f.Text), f.Lines, f.Page)
	return err
}
