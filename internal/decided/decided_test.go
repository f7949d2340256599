package decided

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// observed is a test that takes note of its failures and does not fail.
type observed struct {
	testing.TB
	failed bool
	said   string
}

func (o *observed) Helper()             {}
func (o *observed) Logf(string, ...any) {}
func (o *observed) Failed() bool        { return o.failed }
func (o *observed) Errorf(f string, args ...any) {
	o.failed, o.said = true, o.said+fmt.Sprintf(f, args...)
}
func (o *observed) Fatalf(f string, args ...any) {
	o.Errorf(f, args...)
	runtime.Goexit()
}

// made makes runs as Run does, and returns how many there were and what the test said.
func made(t *testing.T, limit time.Duration, run func(o *observed, n int)) (runs int, o *observed) {
	o = &observed{TB: t}
	done := make(chan struct{})
	go func() { // Fatalf ends the goroutine
		defer close(done)
		within(o, limit, func() {
			runs++
			run(o, runs)
		})
	}()
	<-done
	return runs, o
}

// TestRun: a run that lacks something is made again; one that is decided, well or badly, is not.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit time.Duration
		run   func(o *observed, n int)
		runs  int
		said  string
	}{
		{"decided at once", time.Hour, func(*observed, int) {}, 1, ""},
		{"decided in the third run", time.Hour, func(_ *observed, n int) {
			if n < 3 {
				Lacks("a newer holder")
			}
		}, 3, ""},
		{"decided, and wrong", time.Hour, func(o *observed, _ int) { o.Errorf("wrong") }, 1, "wrong"},
		{"wrong, and decides nothing else", time.Hour, func(o *observed, _ int) {
			o.Errorf("wrong")
			Lacks("a newer holder")
		}, 1, "wrong"},
		{"never decided", 0, func(*observed, int) { Lacks("a fault that met client %d", 7) }, 1,
			"1 runs in 0s, and none decides anything. The last lacked a fault that met client 7"},
	} {
		runs, o := made(t, c.limit, c.run)
		if runs != c.runs || o.said != c.said || o.failed != (c.said != "") {
			t.Errorf("%s: %d runs, said %q; want %d, %q", c.name, runs, o.said, c.runs, c.said)
		}
	}
}

// TestOtherPanicsAreNotCaught: a run that panics for another reason ends the test as ever.
func TestOtherPanicsAreNotCaught(t *testing.T) {
	defer func() {
		if r := recover(); r != "a defect" {
			t.Errorf("recovered %v", r)
		}
	}()
	Run(t, func() { panic("a defect") })
}

// TestLacksOutside: a test that forgot Run is told so.
func TestLacksOutside(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "outside of decided.Run: a fault") {
			t.Errorf("%v", err)
		}
	}()
	Lacks("a fault")
}
