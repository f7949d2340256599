package harness

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// A node that is starved is a stall of the service, a client that is starved one
// of the client; and what a late heartbeat has told of a client is not told again.
func TestStarvedHostsAreRecorded(t *testing.T) {
	var file bytes.Buffer
	rec, err := history.NewRecorder(&file, history.Header{Format: history.FormatVersion, Origin: 1}, []string{"k0"},
		func() int64 { return 2_000_000_001 })
	if err != nil {
		t.Fatal(err)
	}
	d, err := director.New(director.Setting{Recorder: rec, IDs: &wire.Numbers{}})
	if err != nil {
		t.Fatal(err)
	}
	node, one, two := &hosts.Host{Name: "redis-1"}, &hosts.Host{Name: "client-1"}, &hosts.Host{Name: "client-2"}
	s := &starving{bound: 50 * time.Millisecond, clients: map[*hosts.Host]int32{one: 1, two: 2}, director: d, rec: rec}
	wait := func(h *hosts.Host, from, to int64) {
		s.record(hosts.Wait{Host: h, From: from*1e6 + 1, To: to*1e6 + 1, PID: 7, TID: 8,
			For: time.Duration(to-from) * time.Millisecond / 2})
	}
	d.NoteStall(1, 100e6, 300e6, s.bound, func(time.Duration) string { return "late" })
	d.NoteStall(2, 500e6, 900e6, s.bound, func(time.Duration) string { return "late" })
	wait(one, 90, 340)  // the heartbeat told of it
	wait(one, 280, 400) // not of this
	wait(two, 480, 930) // of this, too
	wait(two, 700, 1000)
	wait(node, 90, 340)
	wait(node, -200, 80) // it had begun before the history did
	d.NoteStall(1, 290e6, 420e6, s.bound, func(time.Duration) string { return "late again" })
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadAll(&file, "stalls")
	if err != nil {
		t.Fatal(err)
	}
	type stall struct {
		client   int32
		from, to int64
		node     string
	}
	var got []stall
	for i := range h.Events {
		f := h.Events[i].Fault
		if f == nil || f.Phase != "end" {
			continue
		}
		x := stall{client: h.Events[i].Client, from: f.From / 1e6, to: f.To / 1e6, node: strings.Join(f.Hosts, " ")}
		if f.From <= 0 || f.Injected || f.Kind != "stall" || !f.Bit || f.Service != (x.client == 0) ||
			len(f.Clients) != min(1, int(x.client)) || f.Evidence == "" {
			t.Errorf("%+v", f)
		}
		got = append(got, x)
	}
	want := []stall{{1, 100, 300, ""}, {2, 500, 900, ""}, {1, 300, 400, ""}, {2, 900, 1000, ""},
		{0, 90, 340, "redis-1"}, {0, 0, 80, "redis-1"}}
	if len(got) != len(want) {
		t.Fatalf("stalls %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("stall %v, want %v", got[i], want[i])
		}
	}
}

// told is a history that is looked at while it is written.
type told struct {
	mu sync.Mutex
	bytes.Buffer
}

func (f *told) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Buffer.Write(p)
}

func (f *told) has(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Contains(f.Bytes(), []byte(text))
}

// Where the processes on a node's host starve each other, the history says so of the service.
func TestStarvedNodesAreRecorded(t *testing.T) {
	r := newRun(Config{Plan: plan("redis-setnx", time.Second), Lock: redis.Setnx, Logs: t.TempDir()})
	var file told
	if err := r.start(t.Context(), &file); err != nil {
		t.Fatal(err, r.finish(nil))
	}
	s, err := r.watchWaits()
	if err != nil {
		t.Fatal(err, r.finish(nil))
	}
	node := r.service.Nodes[0]
	for range 4 {
		if _, err := node.Host.Start(exec.Command("/proc/self/exe", "burn")); err != nil {
			t.Fatal(err, r.finish(nil))
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), decided.Limit)
	defer stop()
	done := make(chan error)
	go func() { done <- s.follow(ctx) }()
	for !file.has(`"service":true`) && clock.Pause(ctx, nil, time.Millisecond) {
	}
	stop()
	if err := errors.Join(<-done, r.finish(nil)); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadAll(&file.Buffer, "stalls")
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Events {
		f := h.Events[i].Fault
		if f != nil && f.Phase == "end" && f.Service && !f.Injected && f.Hosts[0] == node.Name &&
			strings.Contains(f.Evidence, "for a processor") {
			return
		}
	}
	t.Error("no stall of the node was recorded")
}

// Waits are looked at ten times a TTL. Where a look takes long it is made more
// seldom, but never so seldom that it comes too late.
func TestWaitsEvery(t *testing.T) {
	for _, c := range [][3]time.Duration{{500, 0, 50}, {500, 2, 50}, {500, 4, 80}, {500, 100, 125}, {2000, 9, 200},
		{20, 0, 10}, {20, 100, 10}} {
		if got := waitsEvery(c[0]*time.Millisecond, c[1]*time.Millisecond); got != c[2]*time.Millisecond {
			t.Errorf("a TTL of %d ms, looks of %d ms: every %v, want %d ms", c[0], c[1], got, c[2])
		}
	}
}
