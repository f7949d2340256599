package watch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/harmless"
)

// resend recognises lines that were taken before a restart and come again: the whole log from its
// start (tail -n +1), or its end (tail sends the last 10 lines).
type resend struct {
	state             // at the restart
	held     [][]byte // lines of which it is not known yet
	skipping bool     // the log comes from its start
	seen     state    // what was skipped
	decided  bool
	strange  bool // no line that comes was read before
}

var errOther = errors.New("the log that comes begins like the one that was watched before, and then differs: give it another --out")

// fresh returns those lines that are new.
func (r *resend) fresh(lines [][]byte) ([][]byte, error) {
	if r.Lines == 0 || r.decided {
		return lines, nil
	}
	if !r.skipping {
		r.held = append(r.held, lines...)
		if lines = r.decide(false); !r.skipping {
			return lines, nil
		}
	}
	for i, line := range lines {
		if r.seen.Lines == r.Lines {
			return r.end(lines[i:])
		}
		r.seen.note(line)
	}
	if r.seen.Lines == r.Lines {
		return r.end(nil)
	}
	return nil, nil
}

// end ends the skipping, if what was skipped is what was taken before.
func (r *resend) end(rest [][]byte) ([][]byte, error) {
	if r.seen.Chain != r.Chain {
		return nil, errOther
	}
	r.decided = true
	return rest, nil
}

// decide looks at the lines that are held. With now it waits for no more of them.
func (r *resend) decide(now bool) [][]byte {
	hashes := make([]uint64, len(r.held))
	for i, line := range r.held {
		hashes[i] = hash(line)
	}
	n := min(len(hashes), len(r.First))
	if slices.Equal(hashes[:n], r.First[:n]) {
		if n == len(r.First) {
			r.skipping = true
			return r.take(0)
		}
		if !now {
			return nil
		}
	}
	for from := range r.Last { // the longest first
		last := r.Last[from:]
		n := min(len(last), len(hashes))
		if !slices.Equal(last[:n], hashes[:n]) {
			continue
		}
		if n == len(last) {
			r.decided = true
			return r.take(n)
		}
		if !now {
			return nil
		}
	}
	r.decided, r.strange = true, true
	return r.take(0)
}

// take returns the held lines, but for the first n.
func (r *resend) take(n int) [][]byte {
	held := r.held[n:]
	r.held = nil
	return held
}

// idle returns the lines that are held, when no more come for a while, or at all.
func (r *resend) idle() [][]byte {
	if len(r.held) == 0 || r.decided || r.skipping {
		return nil
	}
	return r.decide(true)
}

// receive takes lines that are new. Those that come first after a restart, and of which
// none was read before, may be of another log: they are refused if they are all older
// than those of the journal, and otherwise the watch says what it takes them for.
func (w *watcher) receive(again *resend, lines [][]byte) error {
	if again.strange && len(lines) > 0 {
		latest, until := int64(math.MinInt64), time.Unix(0, w.Newest).UTC().Format(time.RFC3339Nano)
		for i, line := range lines {
			if t, err := w.parser.Line(line, i+1); err == nil && !t.Ignored {
				latest = max(latest, t.At)
			}
		}
		if latest == math.MinInt64 { // none of them tells a time
			return w.takeAll(lines)
		}
		again.strange = false
		if latest < w.Newest-w.slack() {
			return fmt.Errorf("no line that comes was read before, and none belongs behind the lines in %s, which go on until %s: this is another log, or an older part of the same; give it another --out", w.Dir, until)
		}
		if _, err := harmless.Fprintf(w.Out,
			"goes on with the journal in %s: no line that comes was read before, so they are taken to follow its %d lines, which go on until %s (another log needs another --out)\n",
			harmless.Line(w.Dir), w.Lines, until); err != nil {
			return err
		}
	}
	return w.takeAll(lines)
}
