package nemesis

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

// ticker is a server that ticks, and can be run again.
type ticker struct {
	host *hosts.Host

	mu    sync.Mutex
	now   *hosts.Process
	kept  []bool // with each start after the first
	awful error  // of the next Await
}

func startTicker(t *testing.T) *ticker {
	t.Helper()
	_, made := hoststest.Network(t, "n1")
	s := &ticker{host: made[0]}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *ticker) run() error {
	cmd := exec.Command("/proc/self/exe", "clock")
	cmd.Stderr = os.Stderr
	p, err := s.host.Start(cmd)
	if err != nil {
		return err
	}
	s.now = p
	return nil
}

func (s *ticker) Kill(ctx context.Context) (*hosts.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.host.Kill(ctx); err != nil {
		return nil, err
	}
	return s.now, s.now.Kill(ctx)
}

func (s *ticker) Start(_ context.Context, keep bool) (*hosts.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, keep)
	err := s.run()
	return s.now, err
}

func (s *ticker) Await(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awful
}

func (s *ticker) place() Place { return Place{Name: "n1", Host: s.host, Server: s} }

// A crashed node is down until it is healed; then another process runs in its
// place, and the proof names both.
func TestCrashAndRestart(t *testing.T) {
	for _, data := range []Data{"", DataKept, DataLost} {
		s := startTicker(t)
		was := s.now
		c, err := CrashNodes(t.Context(), Spec{Kind: KindCrash, Data: data}, s.place())
		if err != nil {
			t.Fatal(err)
		}
		if left, err := s.host.PIDs(); len(left) > 0 || err != nil || was.Gone() < c.From() {
			t.Errorf("processes %v are left, %v; gone at %d, the fault began at %d", left, err, was.Gone(), c.From())
		}
		e, err := c.Heal()
		if err != nil || !e.Bit || e.From != c.From() || e.To <= was.Gone() {
			t.Errorf("%+v, %v", e, err)
		}
		with := "with its data"
		if data == DataLost {
			with = "without its data"
		}
		for _, word := range []string{"n1: process ", "signal: killed", with, "answered after"} {
			if !strings.Contains(e.Proof, word) {
				t.Errorf("the proof does not tell %q: %s", word, e.Proof)
			}
		}
		if left, err := s.host.PIDs(); len(left) != 1 || err != nil || left[0] == was.PID() {
			t.Errorf("processes %v run, %v", left, err)
		}
		if len(s.kept) != 1 || s.kept[0] != (data != DataLost) {
			t.Errorf("data %q: started again %v", data, s.kept)
		}
		if again, err := c.Heal(); again != e || err != nil {
			t.Errorf("healed twice: %+v, %v", again, err)
		}
	}
}

// A crash that is not one, or is not healed, is an error and no proof.
func TestCrashesThatFail(t *testing.T) {
	if _, err := CrashNodes(t.Context(), Spec{Kind: KindCrash}, Place{Name: "n1"}); err == nil ||
		!strings.Contains(err.Error(), "n1 can't be started again") {
		t.Error(err)
	}
	s := startTicker(t)
	s.awful = errors.New("it is silent")
	c, err := CrashNodes(t.Context(), Spec{Kind: KindCrash}, s.place())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := c.Heal(); err == nil || e.Bit || !strings.Contains(err.Error(), "it is silent") ||
		!strings.Contains(e.Proof, "has not answered") {
		t.Errorf("%+v, %v", e, err)
	}
	s.awful = nil
	run, end := context.WithCancel(t.Context())
	if c, err = CrashNodes(run, Spec{Kind: KindCrash}, s.place()); err != nil {
		t.Fatal(err)
	}
	end()
	if e, err := c.Heal(); !errors.Is(err, context.Canceled) || e.Bit || !strings.Contains(e.Proof, "not started again") {
		t.Errorf("the run has ended: %+v, %v", e, err)
	}
	if left, _ := s.host.PIDs(); len(left) > 0 {
		t.Errorf("the run has ended, and %v runs", left)
	}
}

func TestCheckCrash(t *testing.T) {
	nodes := []string{"redis-1", "redis-2", "redis-3"}
	for _, c := range []struct {
		target Target
		data   Data
		want   string // "": it can strike
	}{
		{"redis-2", "", ""}, {"majority", DataLost, ""}, {"nodes:2", DataKept, ""},
		{Holder, "", "a client that dies is a kill"}, {"redis-1", "some", `unknown data "some"`},
		{Service, "", "target service is for a partition"},
	} {
		err := Check(Spec{Kind: KindCrash, Aim: Aim{Target: c.target, When: Random}, Data: c.data},
			Setting{Nodes: nodes, Has: []Trait{Forgets}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, data %q: %v, want %q", c.target, c.data, err, c.want)
		}
	}
	if err := Check(Spec{Kind: KindPause, Aim: Aim{Target: "redis-1", When: Random}, Data: DataLost}, Setting{Nodes: nodes}); err == nil {
		t.Error("a pause loses no data")
	}
	if err := Check(Spec{Kind: KindCrash, Aim: Aim{Target: "redis-1", When: Random}, Data: DataLost},
		Setting{Service: "etcd", Nodes: nodes}); err == nil || !strings.Contains(err.Error(), "a node of etcd has written down") {
		t.Errorf("data that cannot be lost: %v", err)
	}
}
