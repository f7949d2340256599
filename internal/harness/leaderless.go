package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// On a machine that is too busy a service may lose its leader though nobody
// disturbs it. Its nodes say so in their logs.

// leaderless reads on in the logs of a service's nodes.
type leaderless struct {
	director *director.Director
	rec      *history.Recorder
	// disturbed reports whether an injected fault may have cost a node its leader since a stamp.
	disturbed func(since int64) bool
	logs      []*nodeLog
	looked    int64 // the stamp of the last look
	every     time.Duration
}

// nodeLog is how far a node's log has been read.
type nodeLog struct {
	node *backends.Node
	at   int64
	// since is a stamp from before the node lost its leader, and line what it said; since is 0
	// while it has one.
	since int64
	line  string
}

// Of a log, what is read at a look at the most, and what is told of a line.
const (
	mostOfLog  = 64 << 10
	mostOfLine = 300
)

// watchLeaders begins at the ends of the logs.
func (r *run) watchLeaders() *leaderless {
	w := &leaderless{director: r.director, rec: r.Recorder, disturbed: r.director.DisturbedSince, looked: monotime.Now(),
		every: waitsEvery(r.cfg.Plan.Scenario.TTL.Std(), 0)}
	for _, n := range r.service.Nodes {
		if info, err := os.Stat(n.Log); err == nil && n.Elects() {
			w.logs = append(w.logs, &nodeLog{node: n, at: info.Size()})
		}
	}
	return w
}

// follow records until its context ends how long nodes are without a leader.
func (w *leaderless) follow(ctx context.Context) error {
	for len(w.logs) > 0 && clock.Pause(ctx, nil, w.every) {
		if err := w.look(); err != nil {
			return fmt.Errorf("read what the lock service says of its leader: %w", err)
		}
	}
	return nil
}

// look reads what has been written since the last look.
func (w *leaderless) look() error {
	before := w.looked
	w.looked = monotime.Now()
	for _, log := range w.logs {
		lines, err := log.next()
		if err != nil {
			return err
		}
		for _, line := range lines {
			lost, led := log.node.LeaderIn(line)
			if lost && log.since == 0 {
				log.since, log.line = before, line
			}
			if led && log.since != 0 {
				w.record(log)
				log.since = 0
			}
		}
	}
	return nil
}

// record records that a node was without a leader until now, unless that may be
// the doing of an injected fault.
func (w *leaderless) record(log *nodeLog) {
	if w.disturbed(log.since) {
		return
	}
	line := harmless.Line(strings.TrimSpace(log.line))
	if len(line) > mostOfLine {
		line = strings.ToValidUTF8(line[:mostOfLine], "") + "…"
	}
	w.director.RecordStall(history.FaultInfo{Hosts: []string{log.node.Name}, Service: true,
		From: max(1, w.rec.Relative(log.since)), To: w.rec.Now(), Touch: &history.LostLeader,
		Evidence: fmt.Sprintf("%s had lost its leader, and nobody injected that; its log says: %s", log.node.Name,
			line)}, 0)
}

// next returns the lines that have been added.
func (l *nodeLog) next() ([]string, error) {
	f, err := os.Open(l.node.Log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a container's that prints nothing yet
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, mostOfLog)
	n, err := f.ReadAt(text, l.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	whole := strings.LastIndexByte(string(text[:n]), '\n') + 1
	if whole == 0 && n == mostOfLog {
		whole = n // no line is that long
	}
	l.at += int64(whole)
	return strings.Split(string(text[:whole]), "\n"), nil
}
