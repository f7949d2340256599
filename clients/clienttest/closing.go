package clienttest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
)

// closing closes clients that hold: what has a session gives it up with its
// keys, a lease without one runs out, and no goroutine is left.
func closing(s *suite) {
	key := s.key()
	b := s.open()
	s.release(b, s.acquire(b, s.key())) // whatever is opened once for all clients is b's
	for range 3 {
		mark := s.key()
		s.marked(mark, func() {
			a, closeA := s.openClosable()
			s.release(a, s.acquire(a, key))
			g := s.acquire(a, key)
			closeA()
			if err := s.limited(brief, func(ctx context.Context) error { return a.Release(ctx, g) }); err == nil {
				s.Error("a closed client released")
			}
		})
		s.release(b, s.acquire(b, key))
		var left string
		s.eventuallyOr("the goroutines of a closed client end",
			func() bool { left = s.running(mark); return left == "" }, func() string { return left })
	}
}

// marked runs what a client does under a label of its own, which every goroutine inherits that
// comes of it: so they are told from those of other clients, which come and go as they like.
// (A count of all goroutines is no measure: a client may open another connection at any time.)
func (s *suite) marked(mark string, do func()) {
	pprof.Do(context.Background(), pprof.Labels(markLabel, mark), func(context.Context) { do() })
}

const markLabel = "clienttest"

// running returns the stacks of the goroutines with the label, "" if there are none.
func (s *suite) running(mark string) string {
	s.Helper()
	var all bytes.Buffer
	const withLabels = 1
	if err := pprof.Lookup("goroutine").WriteTo(&all, withLabels); err != nil {
		s.Fatal(err)
	}
	var found []string
	label := fmt.Sprintf("%q:%q", markLabel, mark)
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, label) {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}
