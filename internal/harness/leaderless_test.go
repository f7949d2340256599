package harness

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// A leader that nobody disturbed and that is lost is a stall of the service;
// one that a fault on nodes has struck is that fault's doing.
func TestLostLeadersAreRecorded(t *testing.T) {
	r := newRun(Config{Plan: plan("etcd-lease", 2*time.Second), Lock: etcd.Lease, Logs: t.TempDir()})
	var file told
	if err := r.start(t.Context(), &file); err != nil {
		t.Fatal(err, r.finish(nil))
	}
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	w := r.watchLeaders()
	lose := func() (all []*nodeLog) { // the leader stands still until the others have another
		name, err := r.service.Leader(ctx)
		if err != nil {
			t.Fatal(err, r.finish(nil))
		}
		i := slices.IndexFunc(w.logs, func(l *nodeLog) bool { return l.node.Name == name })
		pause, err := w.logs[i].node.Process.Stop(ctx)
		if err != nil {
			t.Fatal(err, r.finish(nil))
		}
		defer pause.Resume()
		all = slices.Delete(slices.Clone(w.logs), i, i+1)
		for _, l := range all {
			l.line = ""
		}
		// it may lose one and have another between two looks
		again := func(l *nodeLog) bool { return l.line != "" && l.since == 0 }
		for !(again(all[0]) && again(all[1])) {
			if err := errors.Join(w.look(), ctx.Err()); err != nil {
				t.Fatal(err, r.finish(nil))
			}
			time.Sleep(time.Millisecond)
		}
		return all
	}
	w.disturbed = func(int64) bool { return true }
	lose()
	w.disturbed = r.director.DisturbedSince
	if file.has("lost its leader") {
		t.Error("what a fault on nodes did is recorded as a stall")
	}
	logs := lose()
	if err := r.finish(nil); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadAll(&file.Buffer, "stalls")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for i := range h.Events {
		// the clients' heartbeats may be late, too
		if f := h.Events[i].Fault; f != nil && f.Phase == "end" && f.Touches().Words == history.LostLeader.Words {
			if f.Injected || !f.Service || f.To <= f.From || !strings.Contains(f.Evidence, " leader ") {
				t.Errorf("%+v", f)
			}
			told[f.Hosts[0]] = true
		}
	}
	for _, l := range logs {
		if !told[l.node.Name] {
			t.Errorf("%s lost its leader, and nothing says so", l.node.Name)
		}
	}
	cancel()
	if err := w.follow(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
