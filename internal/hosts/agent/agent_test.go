package agent

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWait(t *testing.T) {
	lost := errors.New("the connection broke")
	failed := &ExitError{Where: "the agent's pod", Status: 3}
	status := func(lost error) error { return errors.Join(lost, failed) }
	t.Run("ends by itself", func(t *testing.T) {
		s := Started{Output: make(chan error, 1), Status: status, End: func() { t.Error("told to end") }}
		s.Output <- lost
		err := s.Wait(t.Context())
		if !errors.Is(err, lost) || !strings.Contains(err.Error(), "the agent's pod: exit status 3") {
			t.Error(err)
		}
		var exited interface{ ExitCode() int }
		if !errors.As(err, &exited) || exited.ExitCode() != 3 {
			t.Errorf("%v has no exit code 3", err)
		}
	})
	t.Run("is told to end", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := Started{Output: make(chan error, 1), Status: func(lost error) error { return lost }}
		s.End = func() { s.Output <- nil }
		if err := s.Wait(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Run("does not end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			began, told := time.Now(), false
			err := Started{Where: "the agent on node-1", End: func() { told = true }}.Wait(ctx)
			if !told || time.Since(began) != Grace || !strings.HasPrefix(err.Error(), "the agent on node-1 has not ended") {
				t.Errorf("told %v, after %v: %v", told, time.Since(began), err)
			}
		})
	})
}

// TestLinesStayWhole: lines of several goroutines do not mix.
func TestLinesStayWhole(t *testing.T) {
	var out bytes.Buffer
	l := &Lines{Out: &out}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				if err := l.Say(Fact{"docker engine", "28"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if want := strings.Repeat(`{"name":"docker engine","version":"28"}`+"\n", 400); out.String() != want {
		t.Error("the lines are mixed")
	}
}
